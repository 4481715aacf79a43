// Keeps the record of an endpoint's failures, which opens its circuit for a while and disables it in the
// end. It stands in the row of the endpoint, so all worker processes know it at once.
import type { Fragment, Sql, Transaction } from '../db/connection/client.ts'
import { asTenant } from '../db/connection/transaction.ts'
import { writeEndpointEvent } from '../db/events/write-events.ts'
import { ENDPOINT_DISABLED } from '../domain/events/event-types.ts'
import type { Verdict } from '../domain/webhooks/webhook-delivery.ts'
import {
  FAILURES_TO_OPEN,
  FIRST_PAUSE_SECONDS,
  LONGEST_PAUSE_SECONDS,
  type DisabledReason,
  type EndpointStatus,
  type WebhookEndpoint,
} from '../domain/webhooks/webhook-endpoint.ts'

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
  const [before] = await tx<{ failures: number; isFailing: boolean | null }[]>`
    select
      consecutive_failures as failures,
      failing_since < now() - ${disableAfterSeconds}::int * interval '1 second' as "isFailing"
    from webhook_endpoints
    where tenant_id = ${tenantId} and id = ${id}
      and status = 'enabled'
    for no key update
  `
  if (before === undefined) return
  const counts = before.failures < FAILURES_TO_OPEN || before.failures === failuresBefore
  const failures = before.failures + (counts ? 1 : 0)
  const reason = reasonToDisable(verdict, before.isFailing === true)
  const opens = counts && failures >= FAILURES_TO_OPEN
  const pausedUntil = opens ? pauseEnd(tx, failures) : tx`paused_until`
  await tx`
    update webhook_endpoints set
      failing_since = least(failing_since, now()),
      consecutive_failures = ${failures},
      paused_until = ${reason === null ? pausedUntil : null},
      disabled_reason = ${reason},
      status = ${(reason === null ? 'enabled' : 'disabled') satisfies EndpointStatus}
    where tenant_id = ${tenantId} and id = ${id}
      and status = 'enabled'
  `
  if (reason === null) return
  await writeEndpointEvent(tx, endpoint, ENDPOINT_DISABLED)
}

function reasonToDisable(verdict: Verdict, isFailing: boolean): DisabledReason | null {
  if (verdict === 'gone') return 'gone'
  return isFailing ? 'failing' : null
}

/** When the pause after so many failures ends. */
function pauseEnd(sql: Transaction, failures: number): Fragment {
  const seconds = FIRST_PAUSE_SECONDS * 2 ** (failures - FAILURES_TO_OPEN)
  return sql`now() + ${Math.min(seconds, LONGEST_PAUSE_SECONDS)}::float8 * interval '1 second'`
}

/**
 * Lets the caller alone test an endpoint whose pause is over. For the others, the pause goes on for
 * as long as the attempt can take, so that another one follows if the worker dies.
 */
export async function claimTestIfHalfOpen(
  sql: Sql,
  tenantId: string,
  endpointId: string,
  seconds: number,
): Promise<boolean> {
  const { count } = await asTenant(sql, tenantId)`
    update webhook_endpoints set paused_until = now() + ${seconds}::float8 * interval '1 second'
    where tenant_id = ${tenantId} and id = ${endpointId} and paused_until <= now()
  `
  return count === 1
}
