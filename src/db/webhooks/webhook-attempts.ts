// Reads due webhook deliveries for workers, and records their attempts. Each write is guarded by
// the number of the attempt, so that no attempt counts twice.
import type { Event } from '../../domain/events/event.ts'
import type { Reply, Verdict } from '../../domain/webhooks/webhook-delivery.ts'
import type { DisabledReason, EndpointStatus } from '../../domain/webhooks/webhook-endpoint.ts'
import type { Fragment, Sql } from '../connection/client.ts'
import { insertDeliveryJobs } from '../events/event-records.ts'
import type { WebhookJob } from '../queue/queues.ts'
import { eventFromRow, type EventRow } from '../events/events.ts'
import { seesTenant } from '../connection/row-security.ts'

/** A delivery whose next attempt is due. */
export interface DueDelivery {
  readonly event: Event
  readonly url: string
  readonly endpointStatus: EndpointStatus
  /**
   * The signing secrets: the current one and, for some hours after a rotation, the previous one.
   */
  readonly secrets: readonly string[]
  readonly scheduleStep: number
}

interface DueRow {
  event: EventRow
  url: string
  status: EndpointStatus
  secrets: string[]
  schedule_step: number
}

/** Undefined when the attempt was already made, or the delivery has ended. */
export async function findDueDelivery(sql: Sql, job: WebhookJob): Promise<DueDelivery | undefined> {
  const [row] = await sql<DueRow[]>`
    select
      to_jsonb(events) as event, endpoint.url, endpoint.status, delivery.schedule_step,
      array_remove(
        array[
          endpoint.secret,
          case when endpoint.previous_secret_expires_at > now() then endpoint.previous_secret end
        ],
        null
      ) as secrets
    from webhook_deliveries as delivery
    join webhook_endpoints as endpoint
      on endpoint.tenant_id = delivery.tenant_id and endpoint.id = delivery.endpoint_id
    join events on events.tenant_id = delivery.tenant_id and events.id = delivery.event_id
    where ${seesTenant(sql, job.tenantId)} and ${isDue(sql, job)}
  `
  return (
    row && {
      event: eventFromRow(row.event),
      url: row.url,
      endpointStatus: row.status,
      secrets: row.secrets,
      scheduleStep: row.schedule_step,
    }
  )
}

/** Guards every write: the delivery is pending, and this attempt is its next one. */
const isDue = (sql: Sql, { tenantId, deliveryId, attempt }: WebhookJob): Fragment => sql`
  delivery.tenant_id = ${tenantId} and delivery.id = ${deliveryId}
  and delivery.attempts = ${attempt - 1} and delivery.status = 'pending'
`

/** The result of an attempt, and the delay of the next one; null when there is none. */
export interface NewAttempt {
  readonly id: string
  readonly startedAt: Date
  readonly latencyMs: number
  readonly reply: Reply
  readonly verdict: Verdict
  readonly retryInSeconds: number | null
  /** How long an endpoint may fail before it is disabled. */
  readonly disableAfterSeconds: number
}

/**
 * Records an attempt, updates its delivery and its endpoint, and plans the next attempt with its
 * job, in one statement. Returns false and writes nothing when another worker has recorded this
 * attempt.
 */
export async function recordAttemptIfDue(
  sql: Sql,
  job: WebhookJob,
  attempt: NewAttempt,
): Promise<boolean> {
  const { reply, retryInSeconds } = attempt
  const status = retryInSeconds === null ? endOf(attempt.verdict) : 'pending'
  const { count } = await sql`
    with delivery as (
      update webhook_deliveries as delivery set
        status = ${status},
        attempts = attempts + 1,
        schedule_step = schedule_step + 1,
        next_attempt_at = now() + ${retryInSeconds}::float8 * interval '1 second'
      where ${isDue(sql, job)}
      returning delivery.*
    ),
    attempt as (
      insert into webhook_attempts (
        tenant_id, id, delivery_id, number, started_at, latency_ms, http_status, error
      )
      select
        tenant_id, ${attempt.id}::uuid, id, attempts, ${attempt.startedAt.toISOString()}::timestamptz,
        ${attempt.latencyMs}::int, ${'httpStatus' in reply ? reply.httpStatus : null}::smallint,
        ${'error' in reply ? reply.error : null}::text
      from delivery
    ),
    endpoint as (${judgeEndpoint(sql, attempt)}),
    retry as (select * from delivery where status = 'pending'),
    retry_job as (${insertDeliveryJobs(sql, {
      from: 'retry',
      attempt: sql`attempts + 1`,
      startAfter: sql`next_attempt_at`,
    })})
    select from delivery where ${seesTenant(sql, job.tenantId)}
  `
  return count === 1
}

function endOf(verdict: Verdict): 'succeeded' | 'failed' {
  return verdict === 'succeeded' ? 'succeeded' : 'failed'
}

/** A part of a statement: updates the endpoint of the row in `delivery` after the attempt. */
function judgeEndpoint(sql: Sql, { verdict, disableAfterSeconds }: NewAttempt): Fragment {
  const ofDelivery = sql`
    from delivery
    where endpoint.tenant_id = delivery.tenant_id and endpoint.id = delivery.endpoint_id
  `
  if (verdict === 'succeeded') {
    return sql`
      update webhook_endpoints as endpoint set failing_since = null
      ${ofDelivery} and failing_since is not null
    `
  }
  const gone: DisabledReason = 'gone'
  const failing: DisabledReason = 'failing'
  const patience = sql`${disableAfterSeconds}::int * interval '1 second'`
  const reason = sql`
    case when ${verdict === 'gone'} then ${gone}::text
      when failing_since < now() - ${patience} then ${failing}::text end
  `
  return sql`
    update webhook_endpoints as endpoint set
      failing_since = coalesce(failing_since, now()),
      disabled_reason = ${reason},
      status = case when ${reason} is null then endpoint.status else 'disabled' end
    ${ofDelivery} and endpoint.status = 'enabled'
  `
}

/** Fails a delivery whose endpoint is disabled or deleted, without an attempt. */
export async function failIfDue(sql: Sql, job: WebhookJob): Promise<void> {
  await sql`
    update webhook_deliveries as delivery set status = 'failed', next_attempt_at = null
    where ${seesTenant(sql, job.tenantId)} and ${isDue(sql, job)}
  `
}
