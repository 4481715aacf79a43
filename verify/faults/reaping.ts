// A contest of the reaper, whose time has come for a key that failed, with its client, which comes back twice at
// that very moment. Either the key is settled for good, or the payment is made; never both, and never twice.
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

/** In a full run many times, since chance has its part in it; in a hurry each once. */
export function planReapings({ quick }: { readonly quick: boolean }): Case[] {
  return Array.from({ length: quick ? 1 : TIMES }, () =>
    reapings.map(({ name }): Case => ({ scenario: name, strikes: [] })),
  ).flat()
}

/** The client, twice, and the reaper. */
const RIVALS = 3

/** @param first who is to be first at the key, and wins. */
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
  // The reaper may be there first, for once: then it has settled the key.
  if (!haveMet && sent.length > 0) throw new Error('the reaper and the client have not met')
  await settleAll(shop)
  // Another life of the key is another matter.
  await expire(contested, '1 hour')
}

/** More than the service tries by itself. */
const MANY = 1_000
const POLL_MS = 30

/** Has its tries be used up, one after the other without the pauses. */
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
  throw new Error('the operation goes on and on')
}
