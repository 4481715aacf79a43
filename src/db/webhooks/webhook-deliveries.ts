// Reads webhook deliveries for clients, and redelivers them. They are written with their event, and
// attempts update them (src/webhooks/deliver-webhook.ts).
import type { DeliveryStatus, WebhookDelivery } from '../../domain/webhooks/webhook-delivery.ts'
import type { WebhookEndpoint } from '../../domain/webhooks/webhook-endpoint.ts'
import type { Sql, Transaction } from '../connection/client.ts'
import { findIn, listOf, matching, type PageRequest } from '../connection/pages.ts'
import { objectOf, type RowOf, firstIdAt } from '../connection/rows.ts'
import { addJobs, WEBHOOKS_QUEUE, type WebhookJob } from '../queue/jobs.ts'
import { endPause } from './webhook-endpoints.ts'
import type { webhookAttempts, webhookDeliveries } from '../schema/events.ts'

type DeliveryRow = Omit<RowOf<typeof webhookDeliveries>, 'attempts' | 'schedule_step'> & {
  readonly event_type: string
  readonly attempts: readonly RowOf<typeof webhookAttempts>[]
}

/** More than three full schedules. A tenant can cause any number of attempts by redelivering. */
const ATTEMPTS_SHOWN_MAX = 30

/** Deliveries with their last attempts. */
const shownDeliveries = (sql: Sql | Transaction) => ({
  table: 'webhook_deliveries',
  columns: sql`
    entry.tenant_id, entry.id, entry.event_id, entry.endpoint_id, entry.status,
    entry.next_attempt_at, entry.created_at,
    (
      select type from events
      where events.tenant_id = entry.tenant_id and events.id = entry.event_id
    ) as event_type,
    (
      select coalesce(jsonb_agg(to_jsonb(attempt) order by number), '[]'::jsonb)
      from (
        select * from webhook_attempts
        where webhook_attempts.tenant_id = entry.tenant_id
          and webhook_attempts.delivery_id = entry.id
        order by number desc limit ${ATTEMPTS_SHOWN_MAX}
      ) as attempt
    ) as attempts
  `,
  fromRow: ({ attempts, ...row }: DeliveryRow): WebhookDelivery => ({
    ...objectOf(row),
    attempts: attempts.map(objectOf),
  }),
})

/** Finds a delivery of a tenant, or of any. */
export const findDelivery = (sql: Sql | Transaction, tenantId: string | null, id: string) =>
  findIn(sql, tenantId, shownDeliveries(sql), { id })

/** An absent filter matches every delivery. */
interface DeliveryFilters {
  readonly endpointId?: string | undefined
  readonly eventId?: string | undefined
  readonly eventIds?: readonly string[] | undefined
  readonly status?: DeliveryStatus | undefined
}

/** Lists a tenant's deliveries, or those of all tenants. */
export const listDeliveries = (
  sql: Sql,
  tenantId: string | null,
  { endpointId, eventId, eventIds, status }: DeliveryFilters,
  request: PageRequest,
) => {
  // The coalesce hides how few deliveries have a status: otherwise Postgres would read the whole table for
  // each tenant instead of its newest rows.
  const filters = sql`
    ${matching(sql, { endpoint_id: endpointId, event_id: eventId })}
    ${eventIds === undefined ? sql`` : sql`and entry.event_id = any(${[...eventIds]}::uuid[])`}
    ${status === undefined ? sql`` : sql`and coalesce(entry.status = ${status}, false)`}
  `
  const list = {
    ...shownDeliveries(sql),
    filters,
    ordered: { table: 'webhook_deliveries' },
  } as const
  return listOf(sql, tenantId, list, request)
}

/**
 * Starts a delivery again, at once and with the full schedule, if its endpoint is enabled. The pause
 * of the endpoint ends, because the client may know that the receiver works again. A waiting job for
 * the same attempt finds the attempt made. False when there is no such delivery, or when its endpoint
 * is disabled or deleted.
 */
export async function redeliverIfEnabled(
  tx: Transaction,
  { tenantId, id }: Pick<WebhookDelivery, 'tenantId' | 'id'>,
): Promise<boolean> {
  const [delivery] = await tx<RestartedDelivery[]>`
    update webhook_deliveries as delivery
    set status = 'pending', next_attempt_at = now(), schedule_step = 0
    from webhook_endpoints as endpoint
    where delivery.tenant_id = ${tenantId} and delivery.id = ${id}
      and endpoint.tenant_id = delivery.tenant_id and endpoint.id = delivery.endpoint_id
      and endpoint.status = 'enabled'
    returning delivery.id, delivery.endpoint_id, delivery.attempts
  `
  if (delivery === undefined) return false
  await restart(tx, tenantId, delivery.endpoint_id, [delivery])
  return true
}

type RestartedDelivery = Pick<RowOf<typeof webhookDeliveries>, 'id' | 'endpoint_id' | 'attempts'>

/** The next attempt of each delivery is made at once, also if their endpoint had a pause. */
async function restart(
  tx: Transaction,
  tenantId: string,
  endpointId: string,
  deliveries: readonly RestartedDelivery[],
): Promise<void> {
  await endPause(tx, { tenantId, id: endpointId })
  const jobs = deliveries.map(({ id, attempts }): { data: WebhookJob } => ({
    data: { tenantId, endpointId, deliveryId: id, attempt: attempts + 1 },
  }))
  await addJobs(tx, WEBHOOKS_QUEUE, jobs)
}

/**
 * Starts an endpoint's oldest failed deliveries since a moment again, up to a limit, and ends its
 * pause. Returns how many. The ids begin with the time of the event, so the index finds the moment;
 * an hour is for clocks that differ. It reads the endpoint's deliveries since then, 100,000 in 60 ms: an
 * index of the failed ones would cost every attempt more, because its updates would write all indexes.
 */
export async function replayFailedDeliveries(
  tx: Transaction,
  { tenantId, id: endpointId }: Pick<WebhookEndpoint, 'tenantId' | 'id'>,
  since: Date,
  limit: number,
): Promise<number> {
  const failed = await tx<RestartedDelivery[]>`
    select id, endpoint_id, attempts from webhook_deliveries
    where tenant_id = ${tenantId} and endpoint_id = ${endpointId}
      and status = 'failed' and id >= ${firstIdAt(since.getTime() - HOUR_MS)}
      and created_at >= ${since.toISOString()}::timestamptz
    order by id limit ${limit}
    for update
  `
  await tx`
    update webhook_deliveries set status = 'pending', next_attempt_at = now(), schedule_step = 0
    where tenant_id = ${tenantId}
      and id = any(${failed.map(({ id }) => id)}::uuid[])
  `
  if (failed.length > 0) await restart(tx, tenantId, endpointId, failed)
  return failed.length
}

const HOUR_MS = 60 * 60 * 1_000
