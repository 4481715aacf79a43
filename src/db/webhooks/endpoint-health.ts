// Keeps the record of an endpoint's failures, which opens its circuit for a while and disables it in
// the end. It is a part of the endpoint's row, so that all worker processes know it at once.
import { ENDPOINT_DISABLED } from '../../domain/events/event-types.ts'
import {
  FAILURES_TO_OPEN,
  FIRST_PAUSE_SECONDS,
  LONGEST_PAUSE_SECONDS,
} from '../../domain/webhooks/endpoint-circuit.ts'
import type { Verdict } from '../../domain/webhooks/webhook-delivery.ts'
import type {
  DisabledReason,
  EndpointStatus,
  WebhookEndpoint,
} from '../../domain/webhooks/webhook-endpoint.ts'
import type { Fragment, Sql, Transaction } from '../connection/client.ts'
import { seesTenant } from '../connection/row-security.ts'
import { deliverToSubscribers, insertEndpointEvent } from '../events/write-events.ts'
import type { WebhookJob } from '../queue/queues.ts'

/** What the record of an endpoint has to know of an attempt. */
export interface JudgedAttempt {
  readonly verdict: Verdict
  /** The failures of the endpoint when the attempt began. */
  readonly failuresBefore: number
  /** How long an endpoint may fail before it is disabled. */
  readonly disableAfterSeconds: number
}

/**
 * Updates an endpoint after an attempt. If that disables it, the event and its deliveries to the other
 * endpoints of the tenant are written.
 *
 * Many attempts that began together may fail together. Once the circuit is open, only the attempt
 * that tested the endpoint counts, so that they do not lengthen the pause.
 */
export async function judgeEndpoint(
  tx: Transaction,
  endpoint: Pick<WebhookEndpoint, 'tenantId' | 'id'>,
  { verdict, failuresBefore, disableAfterSeconds }: JudgedAttempt,
): Promise<void> {
  const { tenantId, id } = endpoint
  if (verdict === 'succeeded') {
    await tx`
      update webhook_endpoints
      set failing_since = null, consecutive_failures = 0, paused_until = null
      where tenant_id = ${tenantId} and id = ${id}
        and (failing_since is not null or consecutive_failures > 0)
    `
    return
  }
  const gone: DisabledReason = 'gone'
  const failing: DisabledReason = 'failing'
  const patience = tx`${disableAfterSeconds}::int * interval '1 second'`
  const reason = tx`
    case when ${verdict === 'gone'} then ${gone}::text
      when failing_since < now() - ${patience} then ${failing}::text end
  `
  const counts = tx`
    (consecutive_failures < ${FAILURES_TO_OPEN} or consecutive_failures = ${failuresBefore}::int)
  `
  const [judged] = await tx<{ status: EndpointStatus }[]>`
    update webhook_endpoints set
      failing_since = coalesce(failing_since, now()),
      consecutive_failures = consecutive_failures + case when ${counts} then 1 else 0 end,
      paused_until = case
        when ${reason} is not null then null
        when ${counts} and consecutive_failures + 1 >= ${FAILURES_TO_OPEN}
        then ${pauseEnd(tx, tx`consecutive_failures + 1`)}
        else paused_until end,
      disabled_reason = ${reason},
      status = case when ${reason} is null then status else 'disabled' end
    where tenant_id = ${tenantId} and id = ${id}
      and status = 'enabled'
    returning status
  `
  if (judged?.status !== 'disabled') return
  const event = await insertEndpointEvent(tx, endpoint, ENDPOINT_DISABLED)
  await deliverToSubscribers(tx, tenantId, event)
}

/**
 * When the pause after so many failures ends. The exponent is limited, because the power could
 * overflow. It adds seconds: Citus refuses to add an interval to a time in a case of a change.
 */
const pauseEnd = (sql: Transaction, failures: Fragment): Fragment => sql`
  to_timestamp(
    extract(epoch from now())::float8 + least(
      ${FIRST_PAUSE_SECONDS} * 2 ^ least(${failures} - ${FAILURES_TO_OPEN}, 10),
      ${LONGEST_PAUSE_SECONDS}
    )
  )
`

/**
 * Lets the caller alone test an endpoint whose pause is over. For the others, the pause goes on for
 * as long as the attempt can take, so that another one follows if the worker dies.
 */
export async function claimTestIfHalfOpen(
  sql: Sql,
  { tenantId }: WebhookJob,
  endpointId: string,
  seconds: number,
): Promise<boolean> {
  const { count } = await sql`
    update webhook_endpoints set paused_until = now() + ${seconds}::float8 * interval '1 second'
    where ${seesTenant(sql, tenantId)} and tenant_id = ${tenantId} and id = ${endpointId}
      and paused_until <= now()
  `
  return count === 1
}

/** Lets the next attempt test an endpoint that has a pause. */
export async function endPause(
  tx: Transaction,
  { tenantId, id }: Pick<WebhookEndpoint, 'tenantId' | 'id'>,
): Promise<void> {
  await tx`
    update webhook_endpoints set paused_until = now()
    where tenant_id = ${tenantId} and id = ${id}
      and paused_until > now()
  `
}
