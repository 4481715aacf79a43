// Reads events. write-events.ts writes them.
import type { Event } from '../../domain/events/event.ts'
import type { Sql } from '../connection/client.ts'
import { findIn, listOf, matching, type PageRequest } from '../connection/pages.ts'
import { objectOf, type RowOf } from '../connection/rows.ts'
import { paymentFromRow, type PaymentRow } from '../payments/payments.ts'
import { disputeFromRow, type DisputeRow } from '../payments/disputes.ts'
import { refundFromRow, type RefundRow } from '../payments/refunds.ts'
import type * as schema from '../schema/events.ts'

export type EventRow = RowOf<typeof schema.events>

/** The columns of an endpoint that its events have. */
type EventEndpointRow = Pick<
  RowOf<typeof schema.webhookEndpoints>,
  'id' | 'description' | 'status' | 'disabled_reason' | 'failing_since'
>

export const eventFromRow = ({ object, ...row }: EventRow): Event => ({
  ...objectOf(row),
  subject: subjectOf(row, object),
})

function subjectOf(row: Omit<EventRow, 'object'>, object: EventRow['object']): Event['subject'] {
  if (row.endpoint_id !== null) {
    return { kind: 'webhook_endpoint', endpoint: objectOf(object as EventEndpointRow) }
  }
  if (row.dispute_id !== null) {
    return { kind: 'dispute', dispute: disputeFromRow(object as DisputeRow) }
  }
  if (row.refund_id !== null) return { kind: 'refund', refund: refundFromRow(object as RefundRow) }
  return { kind: 'payment', payment: paymentFromRow(object as PaymentRow) }
}

const events = (sql: Sql) => ({
  table: 'events',
  columns: sql`to_jsonb(entry) as event`,
  fromRow: ({ event }: { event: EventRow }) => eventFromRow(event),
})

export const findEvent = (sql: Sql, tenantId: string, id: string) =>
  findIn(sql, tenantId, events(sql), { id })

export const listEvents = (
  sql: Sql,
  tenantId: string,
  wanted: { readonly type?: string | undefined; readonly paymentId?: string | undefined },
  request: PageRequest,
) => {
  const filters = matching(sql, { type: wanted.type, payment_id: wanted.paymentId })
  return listOf(sql, tenantId, { ...events(sql), filters, ordered: { table: 'events' } }, request)
}
