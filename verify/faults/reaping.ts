// Contests for a failed key that has expired: the reaper against its client, which retries twice at
// that moment. Either the reaper completes the key, or the payment is made; never both, and never
// twice.
import { setTimeout as wait } from 'node:timers/promises'
import { keepAnswer } from '../simulate/traffic.ts'
import type { Case } from './case.ts'
import { beginPayment, send, settleAll } from './contests.ts'
import { expire, giveOutAgain, meet, untilWaiting, type Contested } from './rivals.ts'
import type { Scenario } from './scenarios.ts'
import { RECOVERY_LIMIT_SECONDS, type Shop } from './shop.ts'

export const reapings: readonly Scenario[] = [
  { name: 'payment.create.reaped', act: (shop) => contest(shop, 'reaper') },
  { name: 'payment.create.in-time', act: (shop) => contest(shop, 'client') },
]

const TIMES = 20

/** Many times each in a full run, because timing plays a part; once each in a quick run. */
export function planReapings({ quick }: { readonly quick: boolean }): Case[] {
  return Array.from({ length: quick ? 1 : TIMES }, () =>
    reapings.map(({ name }): Case => ({ scenario: name, strikes: [] })),
  ).flat()
}

/** Two requests of the client, and the reaper. */
const RIVALS = 3

/** @param first reaches the key first and wins. */
async function contest(shop: Shop, first: 'reaper' | 'client'): Promise<void> {
  const { lane, tenant } = shop
  const contested = { lane, tenantId: tenant.id }
  const match = { method: 'POST', path: '/v1/payment_intents' } as const
  await lane.provider.plantFault({ match, fault: 'rate_limited', times: 1_000 })
  const operation = beginPayment(shop)
  const { wish, key } = operation
  keepAnswer(operation, await shop.sender.send(wish, key, { patience: 'respond_async' }))
  await untilFailed(contested)
  await lane.provider.removeFaults()
  await expire(contested, '-1 second')
  const sent: Promise<void>[] = []
  const haveMet = await meet(contested, RIVALS, async () => {
    if (first === 'reaper') await untilWaiting(lane, 1)
    sent.push(send(shop, operation), send(shop, operation))
  })
  await Promise.all(sent)
  // The reaper may have completed the key before the contest began.
  if (!haveMet && sent.length > 0) throw new Error('the reaper and the client did not meet')
  await settleAll(shop)
  // What happens when the completed key expires is not part of the contest.
  await expire(contested, '1 hour')
}

/** More than the service's own attempts. */
const MANY = 1_000
const POLL_MS = 30

/** Uses up the attempts of the operation, without the pauses between them. */
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
      update idempotency_keys set attempts = ${MANY}
      where tenant_id = ${tenantId} and status = 'pending' and attempts > 0
    `
    await giveOutAgain(contested)
    await wait(POLL_MS)
  }
  throw new Error('the operation did not fail in time')
}
