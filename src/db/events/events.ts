// Reads events. write-events.ts writes them.
import type { Event } from '../../domain/events/event.ts'
import type { Sql } from '../connection/client.ts'
import { listOf, matching, type Page, type PageRequest } from '../connection/pages.ts'
import { objectOf, type RowOf } from '../connection/rows.ts'
import { paymentFromRow, type PaymentRow } from '../payments/payments.ts'
import { disputeFromRow, type DisputeRow } from '../payments/disputes.ts'
import { refundFromRow, type RefundRow } from '../payments/refunds.ts'
import { asTenant } from '../connection/transaction.ts'
import type { events, webhookEndpoints } from '../schema/events.ts'

export type EventRow = RowOf<typeof events>

/** The columns of an endpoint that its events have. */
type EventEndpointRow = Pick<
  RowOf<typeof webhookEndpoints>,
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

export async function findEvent(
  sql: Sql,
  tenantId: string,
  id: string,
): Promise<Event | undefined> {
  const [row] = await asTenant(sql, tenantId)<{ event: EventRow }[]>`
    select to_jsonb(events) as event from events where tenant_id = ${tenantId} and id = ${id}
  `
  return row && eventFromRow(row.event)
}

/** An absent filter matches every event. */
export interface EventFilters {
  readonly type?: string | undefined
  readonly paymentId?: string | undefined
}

/** Lists a tenant's events, newest first. Undefined when no event has the cursor's id. */
export const listEvents = (
  sql: Sql,
  tenantId: string,
  { type, paymentId }: EventFilters,
  request: PageRequest,
): Promise<Page<Event> | undefined> => {
  const list = {
    table: 'events',
    columns: sql`to_jsonb(entry) as event`,
    filters: matching(sql, { type, payment_id: paymentId }),
    fromRow: ({ event }: { event: EventRow }) => eventFromRow(event),
    ordered: { table: 'events' },
  } as const
  return listOf(sql, tenantId, list, request)
}
