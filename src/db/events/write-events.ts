// Writes events that announce no change of a resource's status, with their deliveries and the jobs of
// these, in the transaction that writes what they announce.
import { randomUUID } from 'node:crypto'
import type { AnnouncedEvent } from '../../domain/events/event-types.ts'
import { EVERY_EVENT } from '../../domain/webhooks/webhook-endpoint.ts'
import type { Transaction } from '../connection/client.ts'
import { nextId } from '../connection/ids.ts'
import { seesTenant } from '../connection/row-security.ts'
import { addJobs } from '../queue/jobs.ts'
import { WEBHOOKS_QUEUE, type WebhookJob } from '../queue/queues.ts'

interface TenantRow {
  readonly tenantId: string
  readonly id: string
}

/** Writes an event of this type about each of the payments, as they are by now. */
export async function writePaymentEvents(
  tx: Transaction,
  tenantId: string,
  paymentIds: readonly string[],
  type: AnnouncedEvent,
): Promise<void> {
  const events = await tx<{ id: string }[]>`
    insert into events (tenant_id, id, type, payment_id, object)
    select
      tenant_id, ${nextId(tx, 'events', tx`tenant_id`)}, ${type}::text, id, to_jsonb(payments)
    from payments
    where ${seesTenant(tx, tenantId)} and tenant_id = ${tenantId}
      and id = any(${[...paymentIds]}::uuid[])
    returning id
  `
  await deliverToSubscribers(
    tx,
    tenantId,
    events.map(({ id }) => id),
  )
}

/** Writes an event about an endpoint. Returns its id. */
export async function insertEndpointEvent(
  tx: Transaction,
  { tenantId, id: endpointId }: TenantRow,
  type: string,
): Promise<string> {
  const [event] = await tx<{ id: string }[]>`
    insert into events (tenant_id, id, type, endpoint_id, object)
    select
      tenant_id, ${nextId(tx, 'events', tx`tenant_id`)}, ${type}::text, id,
      jsonb_build_object(
        'id', id, 'description', description, 'status', status,
        'disabled_reason', disabled_reason, 'failing_since', failing_since
      )
    from webhook_endpoints
    where ${seesTenant(tx, tenantId)} and tenant_id = ${tenantId} and id = ${endpointId}
    returning id
  `
  if (event === undefined) throw new Error('an event about an endpoint that is not there')
  return event.id
}

/** Writes the deliveries of events to each enabled endpoint that subscribed to them. */
export async function deliverToSubscribers(
  tx: Transaction,
  tenantId: string,
  eventIds: readonly string[],
): Promise<void> {
  // The id of a delivery has the place of its event's id in their order.
  const deliveries = await tx<Delivery[]>`
    insert into webhook_deliveries (tenant_id, id, event_id, endpoint_id, next_attempt_at)
    select
      event.tenant_id, (left(event.id::text, 18) || right(gen_random_uuid()::text, 18))::uuid,
      event.id, endpoint.id, now()
    from events as event
    join webhook_endpoints as endpoint on endpoint.tenant_id = event.tenant_id
    where ${seesTenant(tx, tenantId)} and event.tenant_id = ${tenantId}
      and event.id = any(${[...eventIds]}::uuid[])
      and endpoint.status = 'enabled'
      and endpoint.event_types && array[${EVERY_EVENT}::text, event.type]
    returning id, endpoint_id as "endpointId"
  `
  await addFirstAttempts(tx, tenantId, deliveries)
}

/** Writes the delivery of an event to one endpoint. Returns its id. */
export async function insertDelivery(
  tx: Transaction,
  { tenantId, id: eventId }: TenantRow,
  endpointId: string,
): Promise<string> {
  const id = eventId.slice(0, 18) + randomUUID().slice(18)
  await tx`
    insert into webhook_deliveries (tenant_id, id, event_id, endpoint_id, next_attempt_at)
    select ${tenantId}::uuid, ${id}::uuid, ${eventId}::uuid, ${endpointId}::uuid, now()
    where ${seesTenant(tx, tenantId)}
  `
  await addFirstAttempts(tx, tenantId, [{ id, endpointId }])
  return id
}

interface Delivery {
  readonly id: string
  readonly endpointId: string
}

async function addFirstAttempts(
  tx: Transaction,
  tenantId: string,
  deliveries: readonly Delivery[],
): Promise<void> {
  const jobs = deliveries.map(({ id, endpointId }): { data: WebhookJob } => ({
    data: { tenantId, endpointId, deliveryId: id, attempt: 1 },
  }))
  await addJobs(tx, WEBHOOKS_QUEUE, jobs)
}
