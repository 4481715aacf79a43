// Reads due webhook deliveries for workers, and records their attempts. Each write is guarded by
// the number of the attempt, so that no attempt counts twice.
import type { Event } from '../../domain/events/event.ts'
import type { Reply } from '../../domain/webhooks/webhook-delivery.ts'
import type { EndpointStatus, CircuitState } from '../../domain/webhooks/webhook-endpoint.ts'
import type { Fragment, Sql, Transaction } from '../connection/client.ts'
import { rowsOf } from '../connection/rows.ts'
import { asTenant, inTenant } from '../connection/transaction.ts'
import { endpointSecret } from '../../encryption/encryption.ts'
import { addJobs, WEBHOOKS_QUEUE, type WebhookJob } from '../queue/jobs.ts'
import { eventFromRow, type EventRow } from '../events/events.ts'
import { judgeEndpoint, type JudgedAttempt } from './webhook-endpoints.ts'

/** A delivery whose next attempt is due. */
export interface DueDelivery {
  readonly event: Event
  readonly endpointId: string
  readonly url: string
  readonly endpointStatus: EndpointStatus
  readonly circuit: CircuitState
  /** The failures of the endpoint when the attempt begins. */
  readonly consecutiveFailures: number
  /**
   * The signing secrets, newest first: the current one, and those that were replaced some hours ago.
   */
  readonly secrets: readonly string[]
  readonly scheduleStep: number
}

/** Undefined when the attempt was already made, or the delivery has ended. */
export async function findDueDelivery(sql: Sql, job: WebhookJob): Promise<DueDelivery | undefined> {
  const { tenantId } = job
  type Row = Omit<DueDelivery, 'event'> & { readonly event: EventRow }
  const [row] = await asTenant(sql, tenantId)<Row[]>`
    select
      to_jsonb(events) as event, endpoint.id as "endpointId", endpoint.url,
      endpoint.status as "endpointStatus", endpoint.consecutive_failures as "consecutiveFailures",
      delivery.schedule_step as "scheduleStep",
      case when endpoint.paused_until is null then 'closed'
        when endpoint.paused_until > now() then 'open' else 'half_open' end as circuit,
      array_remove(
        array[
          endpoint.secret,
          case when endpoint.previous_secret_expires_at > now() then endpoint.previous_secret end,
          case when endpoint.second_previous_secret_expires_at > now()
            then endpoint.second_previous_secret end,
          case when endpoint.third_previous_secret_expires_at > now()
            then endpoint.third_previous_secret end
        ],
        null
      ) as secrets
    from webhook_deliveries as delivery
    join webhook_endpoints as endpoint
      on endpoint.tenant_id = delivery.tenant_id and endpoint.id = delivery.endpoint_id
    join events on events.tenant_id = delivery.tenant_id and events.id = delivery.event_id
    where ${isDue(sql, job)}
  `
  if (row === undefined) return undefined
  const endpoint = { tenantId, id: row.endpointId }
  const secrets = row.secrets.map((secret) => endpointSecret.decrypt(endpoint, secret))
  return { ...row, event: eventFromRow(row.event), secrets }
}

/** Guards every write: the delivery is pending, and this attempt is its next one. */
const isDue = (
  sql: Sql | Transaction,
  { tenantId, deliveryId, attempt }: WebhookJob,
): Fragment => sql`
  delivery.tenant_id = ${tenantId} and delivery.id = ${deliveryId}
  and delivery.attempts = ${attempt - 1} and delivery.status = 'pending'
`

/** The result of an attempt, and the delay of the next one; null when there is none. */
export interface NewAttempt extends JudgedAttempt {
  readonly id: string
  readonly startedAt: Date
  readonly latencyMs: number
  readonly reply: Reply
  readonly retryInSeconds: number | null
}

/**
 * Records an attempt, updates its delivery and its endpoint, and plans the next attempt with its job.
 * Returns false and writes nothing when another worker has recorded this attempt.
 */
export async function recordAttemptIfDue(
  sql: Sql,
  job: WebhookJob,
  attempt: NewAttempt,
): Promise<boolean> {
  const { tenantId, deliveryId } = job
  const { reply, retryInSeconds } = attempt
  const end = attempt.verdict === 'succeeded' ? 'succeeded' : 'failed'
  return await inTenant(sql, tenantId, async (tx) => {
    const [delivery] = await tx<{ endpointId: string; nextAttemptAt: string | null }[]>`
      update webhook_deliveries as delivery set
        status = ${retryInSeconds === null ? end : 'pending'},
        attempts = attempts + 1,
        schedule_step = schedule_step + 1,
        next_attempt_at = now() + ${retryInSeconds}::float8 * interval '1 second'
      where ${isDue(tx, job)}
      returning endpoint_id as "endpointId", next_attempt_at as "nextAttemptAt"
    `
    if (delivery === undefined) return false
    const { endpointId, nextAttemptAt } = delivery
    const { id, startedAt, latencyMs } = attempt
    const httpStatus = 'httpStatus' in reply ? reply.httpStatus : null
    const error = 'error' in reply ? reply.error : null
    const answer = { startedAt, latencyMs, httpStatus, error }
    const row = { tenantId, id, deliveryId, number: job.attempt, ...answer }
    await tx`insert into webhook_attempts ${rowsOf(tx, [row])}`
    await judgeEndpoint(tx, { tenantId, id: endpointId }, attempt)
    const next = { ...job, endpointId, attempt: job.attempt + 1 }
    if (nextAttemptAt !== null) await addAttempt(tx, next, nextAttemptAt)
    return true
  })
}

async function addAttempt(tx: Transaction, job: WebhookJob, startAfter: string): Promise<void> {
  const { tenantId, endpointId, deliveryId, attempt } = job
  const data = { tenantId, endpointId, deliveryId, attempt }
  await addJobs(tx, WEBHOOKS_QUEUE, [{ data, startAfter }])
}

/**
 * Makes a delivery wait until the pause of its endpoint is over, and some seconds more, with a job
 * for the same attempt. A second job for this attempt finds that it is not due, and adds no third.
 */
export async function postponeIfDue(sql: Sql, job: WebhookJob, seconds: number): Promise<void> {
  const { tenantId } = job
  await inTenant(sql, tenantId, async (tx) => {
    const [next] = await tx<{ endpointId: string; at: string }[]>`
      select
        endpoint.id as "endpointId",
        greatest(endpoint.paused_until, now()) + ${seconds}::float8 * interval '1 second' as at
      from webhook_deliveries as delivery
      join webhook_endpoints as endpoint
        on endpoint.tenant_id = delivery.tenant_id and endpoint.id = delivery.endpoint_id
      where ${isDue(tx, job)} and delivery.next_attempt_at <= now()
    `
    if (next === undefined) return
    const { count } = await tx`
      update webhook_deliveries as delivery set next_attempt_at = ${next.at}
      where ${isDue(tx, job)} and delivery.next_attempt_at <= now()
    `
    if (count === 1) await addAttempt(tx, { ...job, endpointId: next.endpointId }, next.at)
  })
}

/** Fails a delivery whose endpoint is disabled or deleted, without an attempt. */
export async function failIfDue(sql: Sql, job: WebhookJob): Promise<void> {
  await asTenant(sql, job.tenantId)`
    update webhook_deliveries as delivery set status = 'failed', next_attempt_at = null
    where ${isDue(sql, job)}
  `
}
