// Writes events with their deliveries and the jobs of these, in the transaction that writes what they
// announce: neither a change nor its event exists alone.
import { randomUUID } from 'node:crypto'
import { type AnnouncedEvent, EVERY_EVENT } from '../../domain/events/event-types.ts'
import { isInternalKey } from '../../domain/idempotency/idempotency-key.ts'
import type { Transaction } from '../connection/client.ts'
import { rowsOf, type NewRow, type RowOf, nextId } from '../connection/rows.ts'
import { together } from '../connection/transaction.ts'
import { addJobs, WEBHOOKS_QUEUE, type WebhookJob } from '../queue/jobs.ts'
import type { events, webhookEndpoints } from '../schema/events.ts'

type ResourceKind = 'payment' | 'refund' | 'dispute'

/** The row of a payment, a refund or a dispute, whose timestamps are text. */
export interface ResourceRow {
  readonly id: string
  /** Of a refund or a dispute. */
  readonly payment_id?: string
  readonly status: string
  readonly previous_status?: string | null
}

/** An event about a resource, which becomes its object as the row is by now. */
export interface NewEvent {
  readonly type: string
  readonly kind: ResourceKind
  readonly row: ResourceRow
  /** The key of the request that caused it. */
  readonly key?: string | undefined
}

/** The event of a change: none when the status stays the same. */
export function eventsOfChange(kind: ResourceKind, row: ResourceRow, key: string): NewEvent[] {
  const { status, previous_status: previous = null } = row
  if (status === previous) return []
  return [{ type: `${kind}.${previous === null ? 'created' : status}`, kind, row, key }]
}

/** Writes events about resources of a tenant, with deliveries to its subscribers: these, if they are known. */
export async function writeEvents(
  tx: Transaction,
  tenantId: string,
  events: readonly NewEvent[],
  known?: readonly Subscriber[],
): Promise<void> {
  if (events.length === 0) return
  const rows = events.map(({ type, kind, row, key }) => ({
    tenantId,
    id: nextId(tx, 'events', tx`${tenantId}::uuid`),
    type,
    paymentId: kind === 'payment' ? row.id : row.payment_id,
    refundId: kind === 'refund' ? row.id : null,
    disputeId: kind === 'dispute' ? row.id : null,
    object: row,
    // An internal key is not shown.
    idempotencyKey: key === undefined || isInternalKey(key) ? null : key,
  }))
  const [written, endpoints] = await together([
    insertRows(tx, rows),
    known === undefined ? findSubscribers(tx, tenantId) : Promise.resolve(known),
  ])
  await deliver(tx, tenantId, written, endpoints)
}

async function insertRows(tx: Transaction, rows: readonly NewRow[]): Promise<WrittenEvent[]> {
  return await tx<WrittenEvent[]>`
    insert into events ${rowsOf(tx, rows)}
    returning id, type
  `
}

type WrittenEvent = Pick<RowOf<typeof events>, 'id' | 'type'>

/** An enabled endpoint. */
export type Subscriber = Pick<RowOf<typeof webhookEndpoints>, 'id' | 'event_types'>

/** Finds the enabled endpoints of a tenant. */
export async function findSubscribers(tx: Transaction, tenantId: string): Promise<Subscriber[]> {
  return await tx<Subscriber[]>`
    select id, event_types from webhook_endpoints
    where tenant_id = ${tenantId} and status = 'enabled'
  `
}

/** Writes deliveries of events to the endpoints that subscribed to them, and their jobs. Returns their ids. */
async function deliver(
  tx: Transaction,
  tenantId: string,
  events: readonly WrittenEvent[],
  endpoints: readonly Subscriber[],
): Promise<string[]> {
  const deliveries = events.flatMap((event) =>
    endpoints
      .filter(({ event_types: types }) => types.includes(EVERY_EVENT) || types.includes(event.type))
      .map((endpoint) => deliveryOf(tenantId, event.id, endpoint.id)),
  )
  if (deliveries.length === 0) return []
  const jobs = deliveries.map(({ id: deliveryId, endpointId }) => ({
    data: { tenantId, endpointId, deliveryId, attempt: 1 } satisfies WebhookJob,
  }))
  const rows = deliveries.map((delivery) => ({ ...delivery, nextAttemptAt: tx`now()` }))
  const insert = async () => await tx`insert into webhook_deliveries ${rowsOf(tx, rows)}`
  await together([insert(), addJobs(tx, WEBHOOKS_QUEUE, jobs)])
  return deliveries.map(({ id }) => id)
}

/** The id of a delivery has the place of its event's id in their order. */
const deliveryOf = (tenantId: string, eventId: string, endpointId: string) => ({
  tenantId,
  id: eventId.slice(0, 18) + randomUUID().slice(18),
  eventId,
  endpointId,
})

/** Writes an event of this type about each of the payments, as they are by now. */
export async function writePaymentEvents(
  tx: Transaction,
  tenantId: string,
  paymentIds: readonly string[],
  type: AnnouncedEvent,
): Promise<void> {
  await writeEvents(tx, tenantId, await findPaymentEvents(tx, tenantId, paymentIds, type))
}

/**
 * An event of this type about each of the payments, as they are by now. The lock puts it in order with
 * those of other changes.
 */
export async function findPaymentEvents(
  tx: Transaction,
  tenantId: string,
  paymentIds: readonly string[],
  type: AnnouncedEvent,
  key?: string,
): Promise<NewEvent[]> {
  const payments = await tx<ResourceRow[]>`
    select * from payments
    where tenant_id = ${tenantId} and id = any(${[...paymentIds]}::uuid[])
    for share
  `
  return payments.map((row) => ({ type, kind: 'payment', row, key }))
}

/**
 * Writes an event about an endpoint, and its deliveries: to these receivers, or to each subscriber. Returns
 * the ids of the deliveries.
 */
export async function writeEndpointEvent(
  tx: Transaction,
  { tenantId, id: endpointId }: { readonly tenantId: string; readonly id: string },
  type: string,
  receivers?: readonly Subscriber[],
): Promise<string[]> {
  const [object] = await tx`
    select id, description, status, disabled_reason, failing_since from webhook_endpoints
    where tenant_id = ${tenantId} and id = ${endpointId}
  `
  if (object === undefined) throw new Error('an event about an endpoint that is not there')
  const id = nextId(tx, 'events', tx`${tenantId}::uuid`)
  const events = await insertRows(tx, [{ tenantId, id, type, endpointId, object }])
  return await deliver(tx, tenantId, events, receivers ?? (await findSubscribers(tx, tenantId)))
}
