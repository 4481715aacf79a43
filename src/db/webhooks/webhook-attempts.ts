// The statements by which workers act on webhook deliveries: read what is due, and record what an attempt
// came to. Each write is guarded by the number of the attempt, so that none counts twice.
import type { Event } from '../../domain/events/event.ts'
import type { Reply, Verdict } from '../../domain/webhooks/webhook-delivery.ts'
import type { DisabledReason, EndpointStatus } from '../../domain/webhooks/webhook-endpoint.ts'
import type { Fragment, Sql } from '../connection/client.ts'
import { insertDeliveryJobs } from '../events/event-records.ts'
import type { WebhookJob } from '../queue/queues.ts'
import { eventFromRow, type EventRow } from '../events/events.ts'
import { seesTenant } from '../connection/row-security.ts'

/** A delivery whose attempt is to be made now. */
export interface DueDelivery {
  readonly event: Event
  readonly url: string
  readonly endpointStatus: EndpointStatus
  /** Those that sign: the current one and, for some hours after a rotation, the one before. */
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

/** Undefined when the attempt was made before, or the delivery has come to its end. */
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

/** The guard of every write: this attempt is the next one, and there is one to come. */
const isDue = (sql: Sql, { tenantId, deliveryId, attempt }: WebhookJob): Fragment => sql`
  delivery.tenant_id = ${tenantId} and delivery.id = ${deliveryId}
  and delivery.attempts = ${attempt - 1} and delivery.status = 'pending'
`

/** What an attempt came to, and when the next one is; null when there is none. */
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
 * Records an attempt, moves its delivery and its endpoint on, and plans the next attempt with its job,
 * in one statement. False when another worker has recorded this attempt: then nothing is written.
 */
export async function recordAttemptIfDue(
  sql: Sql,
  job: WebhookJob,
  made: NewAttempt,
): Promise<boolean> {
  const { reply, retryInSeconds } = made
  const status = retryInSeconds === null ? endOf(made.verdict) : 'pending'
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
        tenant_id, ${made.id}::uuid, id, attempts, ${made.startedAt.toISOString()}::timestamptz,
        ${made.latencyMs}::int, ${'httpStatus' in reply ? reply.httpStatus : null}::smallint,
        ${'error' in reply ? reply.error : null}::text
      from delivery
    ),
    endpoint as (${judgeEndpoint(sql, made)}),
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

/** A part of a statement: what the attempt of the row in `delivery` says about its endpoint. */
function judgeEndpoint(sql: Sql, { verdict, disableAfterSeconds }: NewAttempt): Fragment {
  const theirs = sql`
    from delivery
    where endpoint.tenant_id = delivery.tenant_id and endpoint.id = delivery.endpoint_id
  `
  if (verdict === 'succeeded') {
    return sql`
      update webhook_endpoints as endpoint set failing_since = null
      ${theirs} and failing_since is not null
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
    ${theirs} and endpoint.status = 'enabled'
  `
}

/** Ends a delivery whose endpoint takes no more, without an attempt. */
export async function failIfDue(sql: Sql, job: WebhookJob): Promise<void> {
  await sql`
    update webhook_deliveries as delivery set status = 'failed', next_attempt_at = null
    where ${seesTenant(sql, job.tenantId)} and ${isDue(sql, job)}
  `
}
