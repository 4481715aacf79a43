// Reads events. write-events.ts writes them.
import type { Event } from '../../domain/events/event.ts'
import type { Sql } from '../connection/client.ts'
import { readPage, type Page, type PageRequest } from '../connection/pages.ts'
import { paymentFromRow, type PaymentRow } from '../payments/payments.ts'
import { disputeFromRow, type DisputeRow } from '../payments/disputes.ts'
import { refundFromRow, type RefundRow } from '../payments/refunds.ts'
import { asTenant, inTenant } from '../connection/transaction.ts'
import type { events } from '../schema/events.ts'
import type { RowOf } from '../schema/row-of.ts'
import type { webhookEndpoints } from '../schema/webhook-endpoints.ts'

export type EventRow = RowOf<typeof events>

/** The columns of an endpoint that its events have. */
type EventEndpointRow = Pick<
  RowOf<typeof webhookEndpoints>,
  'id' | 'description' | 'status' | 'disabled_reason' | 'failing_since'
>

export function eventFromRow(row: EventRow): Event {
  return {
    tenantId: row.tenant_id,
    id: row.id,
    type: row.type,
    subject: subjectFromRow(row),
    idempotencyKey: row.idempotency_key,
    createdAt: new Date(row.created_at),
  }
}

function subjectFromRow(row: EventRow): Event['subject'] {
  const { object, refund_id, dispute_id, endpoint_id } = row
  if (endpoint_id !== null) return endpointFromObject(object as EventEndpointRow)
  if (dispute_id !== null) return { kind: 'dispute', dispute: disputeFromRow(object as DisputeRow) }
  if (refund_id !== null) return { kind: 'refund', refund: refundFromRow(object as RefundRow) }
  return { kind: 'payment', payment: paymentFromRow(object as PaymentRow) }
}

function endpointFromObject(object: EventEndpointRow): Event['subject'] {
  const { id, description, status, disabled_reason: disabledReason, failing_since } = object
  const failingSince = failing_since === null ? null : new Date(failing_since)
  return {
    kind: 'webhook_endpoint',
    endpoint: { id, description, status, disabledReason, failingSince },
  }
}

/** Finds an event of a tenant. */
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
export async function listEvents(
  sql: Sql,
  tenantId: string,
  { type, paymentId }: EventFilters,
  request: PageRequest,
): Promise<Page<Event> | undefined> {
  const entries = sql`from events where tenant_id = ${tenantId}`
  const filters = sql`
      ${type === undefined ? sql`` : sql`and type = ${type}`}
      ${paymentId === undefined ? sql`` : sql`and payment_id = ${paymentId}`}
  `
  const columns = sql`to_jsonb(events) as event`
  const ordered = { table: 'events', tenantId } as const
  const list = { columns, entries, filters, fromRow: eventFromColumn, ordered }
  return await inTenant(sql, tenantId, (tx) => readPage(tx, list, request))
}

function eventFromColumn({ event }: { event: EventRow }): Event {
  return eventFromRow(event)
}
