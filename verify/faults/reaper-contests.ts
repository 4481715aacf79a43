// Contests for a failed key that has expired: the reaper against its client, which retries twice at
// that moment. Either the reaper completes the key, or the payment is made; never both, and never
// twice.
import { setTimeout as wait } from 'node:timers/promises'
import { keepAnswer } from '../simulate/traffic.ts'
import type { Case } from './case.ts'
import { beginPayment, send, untilAllAnswered } from './contests.ts'
import { expire, makeJobDue, rendezvous, untilWaiting, type Contested } from './rendezvous.ts'
import type { Scenario } from './scenario.ts'
import { RECOVERY_LIMIT_SECONDS, type Merchant } from './merchant.ts'

export const reaperContests: readonly Scenario[] = [
  { name: 'payment.create.reaped', act: (merchant) => contest(merchant, 'reaper') },
  { name: 'payment.create.in-time', act: (merchant) => contest(merchant, 'client') },
]

const TIMES = 20

/** Many times each in a full run, because timing plays a part; once each in a quick run. */
export function planReaperContests({ quick }: { readonly quick: boolean }): Case[] {
  return Array.from({ length: quick ? 1 : TIMES }, () =>
    reaperContests.map(({ name }): Case => ({ scenario: name, injections: [] })),
  ).flat()
}

/** Two requests of the client, and the reaper. */
const RIVALS = 3

/** @param first reaches the key first and wins. */
async function contest(merchant: Merchant, first: 'reaper' | 'client'): Promise<void> {
  const { lane, tenant } = merchant
  const contested = { lane, tenantId: tenant.id }
  const match = { method: 'POST', path: '/v1/payment_intents' } as const
  await lane.provider.plantFault({ match, fault: 'rate_limited', times: 1_000 })
  const operation = beginPayment(merchant)
  const { content, key } = operation
  keepAnswer(operation, await merchant.sender.send(content, key, { patience: 'respond_async' }))
  await untilFailed(contested)
  await lane.provider.removeFaults()
  await expire(contested, '-1 second')
  const sent: Promise<void>[] = []
  const haveMet = await rendezvous(contested, RIVALS, async () => {
    if (first === 'reaper') await untilWaiting(lane, 1)
    sent.push(send(merchant, operation), send(merchant, operation))
  })
  await Promise.all(sent)
  // The reaper may have completed the key before the contest began.
  if (!haveMet && sent.length > 0) throw new Error('the reaper and the client did not meet')
  await untilAllAnswered(merchant)
  // What happens when the completed key expires is not part of the contest.
  await expire(contested, '1 hour')
}

/** More than the service's own attempts. */
const MANY = 1_000
const POLL_MS = 30

/** Uses up the attempts and the time of the operation, without the pauses between attempts. */
async function untilFailed(contested: Contested): Promise<void> {
  const { lane, tenantId } = contested
  const { sql } = lane.owner
  const endsAt = performance.now() + RECOVERY_LIMIT_SECONDS * 1_000
  while (performance.now() < endsAt) {
    const failed = await sql`
      select from idempotency_keys where tenant_id = ${tenantId} and status = 'failed_retryable'
    `
    if (failed.length > 0) return
    await sql`
      update idempotency_keys set attempts = ${MANY}, created_at = created_at - interval '2 days'
      where tenant_id = ${tenantId} and status = 'pending' and attempts > 0
    `
    await makeJobDue(contested)
    await wait(POLL_MS)
  }
  throw new Error('the operation did not fail in time')
}
