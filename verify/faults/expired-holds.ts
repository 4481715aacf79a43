// The scenario of a hold that is not captured, and whose events of the provider are lost: its end
// is announced once, and the service finds it canceled at the provider.
import { setTimeout as wait } from 'node:timers/promises'
import { AUTHORIZATION_EXPIRING } from '../../src/domain/events/event-types.ts'
import { EXPIRY } from '../../src/domain/events/provider-event.ts'
import { findPayment, forgetReminders, retryWhileDown } from './event-scenarios.ts'
import { checkCanceled, remindNow, untilCanceled } from './expired-actions.ts'
import { type Merchant } from './merchant.ts'
import { RECOVERY_LIMIT_MS } from './bounds.ts'
import { MANUAL, paid } from './payments.ts'
import { poll } from './poll.ts'
import type { Violation } from './results.ts'
import type { Scenario } from './scenario.ts'
import { SHORT_LIMITS } from './short-limits.ts'

export const expireHold: Scenario = {
  name: 'payment.follow.expired',
  prepare: paid(MANUAL),
  act: letHoldExpire,
  check: checkExpired,
}

/** The workers announce and look by themselves, as often as they sweep. */
async function letHoldExpire(merchant: Merchant): Promise<void> {
  const { lane, tenant } = merchant
  const { sql } = lane.owner
  const endHold = (seconds: number) =>
    retryWhileDown(
      () => sql`
        update payments set capture_before = now() + ${seconds} * interval '1 second'
        where tenant_id = ${tenant.id}
      `,
    )
  await endHold(3_600)
  if (!(await until(merchant, 'an announcement', () => countAnnounced(merchant)))) return
  // A worker that announces again does so now.
  await wait(2 * Number(SHORT_LIMITS.SWEEP_INTERVAL_MS), undefined, { signal: merchant.signal })
  const { intentId } = await findPayment(merchant)
  await lane.provider.control('POST', `payment_intents/${intentId}/expire`, {})
  await endHold(-3_600)
  if (!(await until(merchant, 'a look', () => countLooks(merchant)))) return
  await forgetReminders(merchant)
  await remindNow(merchant, EXPIRY)
  await untilCanceled(merchant)
}

/** Returns whether it came. If it never does, that is a violation. */
async function until(
  merchant: Merchant,
  awaited: string,
  count: () => Promise<number>,
): Promise<boolean> {
  const { signal } = merchant
  if (await poll(RECOVERY_LIMIT_MS, async () => (await count()) > 0, { signal })) return true
  merchant.violations.push({ invariant: 7, what: `the hold that ends never led to ${awaited}` })
  return false
}

async function countAnnounced({ lane: { owner }, tenant }: Merchant): Promise<number> {
  const { count } = await retryWhileDown(
    () => owner.sql`
      select from events where tenant_id = ${tenant.id} and type = ${AUTHORIZATION_EXPIRING}
    `,
  )
  return count
}

async function countLooks({ lane: { owner }, tenant }: Merchant): Promise<number> {
  const { count } = await retryWhileDown(
    () => owner.sql`
      select from provider_events where tenant_id = ${tenant.id} and type = ${EXPIRY}
    `,
  )
  return count
}

async function checkExpired(merchant: Merchant): Promise<Violation[]> {
  const announced = await countAnnounced(merchant)
  const twice = { invariant: 1, what: `the end of the hold was announced ${announced} times` }
  return [...(await checkCanceled(merchant)), ...(announced === 1 ? [] : [twice])]
}
