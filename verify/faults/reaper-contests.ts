// Contests for a failed key that has expired: the reaper against its client, which retries twice at
// that moment. Either the reaper completes the key, or the payment is made; never both, and never
// twice.
import { keepAnswer } from '../simulate/traffic.ts'
import { PAYMENT } from './contests.ts'
import { expire, makeJobDue, rendezvous, untilWaiting, type Contested } from './rendezvous.ts'
import type { Scenario } from './scenario.ts'
import { type Merchant } from './merchant.ts'
import { RECOVERY_LIMIT_MS } from './bounds.ts'
import { CREATION } from './payments.ts'
import { poll } from './poll.ts'

export const reaperContests: readonly Scenario[] = [
  { name: 'payment.create.reaped', act: (merchant) => contest(merchant, 'reaper') },
  { name: 'payment.create.in-time', act: (merchant) => contest(merchant, 'client') },
]

/** Two requests of the client, and the reaper. */
const RIVALS = 3

/** @param first reaches the key first and wins. */
async function contest(merchant: Merchant, first: 'reaper' | 'client'): Promise<void> {
  const { lane, tenant } = merchant
  const contested = { lane, tenantId: tenant.id }
  await lane.provider.plantFault({ match: CREATION, fault: 'rate_limited', times: 1_000 })
  const operation = merchant.begin(PAYMENT)
  const { content, key } = operation
  keepAnswer(operation, await merchant.sender.send(content, key, { patience: 'respond_async' }))
  await untilFailed(contested)
  await lane.provider.removeFaults()
  await expire(contested, '-1 second')
  const sent: Promise<void>[] = []
  const haveMet = await rendezvous(contested, RIVALS, async () => {
    if (first === 'reaper') await untilWaiting(lane, 1)
    sent.push(merchant.send(operation), merchant.send(operation))
  })
  await Promise.all(sent)
  // The reaper may have completed the key before the contest began.
  if (!haveMet && sent.length > 0) throw new Error('the reaper and the client did not meet')
  await merchant.untilAllAnswered()
  // What happens when the completed key expires is not part of the contest.
  await expire(contested, '1 hour')
}

/** More than the service's own attempts. */
const MANY = 1_000

/** Uses up the attempts and the time of the operation, without the pauses between attempts. */
async function untilFailed(contested: Contested): Promise<void> {
  const { lane, tenantId } = contested
  const { sql } = lane.owner
  const hasFailed = await poll(RECOVERY_LIMIT_MS, async () => {
    const failed = await sql`
      select from idempotency_keys where tenant_id = ${tenantId} and status = 'failed_retryable'
    `
    if (failed.length > 0) return true
    await sql`
      update idempotency_keys set attempts = ${MANY}, created_at = created_at - interval '2 days'
      where tenant_id = ${tenantId} and status = 'pending' and attempts > 0
    `
    await makeJobDue(contested)
    return false
  })
  if (!hasFailed) throw new Error('the operation did not fail in time')
}
