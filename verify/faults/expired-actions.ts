// The scenario of a payment with 3-D Secure whose cardholder never acts: its reminder comes due
// after the payment has expired, and the service cancels it.
import { createJobWaker } from '../../src/db/connection/notifications.ts'
import { inTransaction } from '../../src/db/connection/transaction.ts'
import { requeueProviderEventUnlessApplied } from '../../src/db/queue/dead-letters.ts'
import { PROVIDER_EVENTS_QUEUE } from '../../src/db/queue/jobs.ts'
import {
  findPayment,
  forgetReminders,
  readIntentStatus,
  retryWhileDown,
  until,
} from './event-scenarios.ts'
import type { Merchant } from './merchant.ts'
import { paid, SECURE } from './payments.ts'
import type { Violation } from './results.ts'
import type { Scenario } from './scenario.ts'

export const expire: Scenario = {
  name: 'payment.cancel.expired',
  prepare: paid(SECURE),
  act: async (merchant) => {
    await remindLate(merchant)
    await untilCanceled(merchant)
  },
  check: checkCanceled,
}

/**
 * Lets the reminder find the payment expired. It uses the queue of the provider's events, which a
 * worker does not poll for but is notified of.
 */
async function remindLate(merchant: Merchant): Promise<void> {
  const { lane, tenant } = merchant
  const { sql } = lane.owner
  await forgetReminders(merchant)
  await retryWhileDown(
    () => sql`
      update provider_events set received_at = received_at - interval '30 days'
      where tenant_id = ${tenant.id} and type = 'reminder'
    `,
  )
  await remindNow(merchant, 'reminder')
}

/** Applies an internal event of the payment now. */
export async function remindNow({ lane, tenant }: Merchant, type: string): Promise<void> {
  const { sql } = lane.owner
  await retryWhileDown(() =>
    inTransaction(sql, async (tx) => {
      const [reminder] = await tx<{ provider: string; id: string }[]>`
        select provider, id from provider_events where tenant_id = ${tenant.id} and type = ${type}
      `
      if (reminder === undefined) throw new Error(`the payment has no ${type}`)
      await requeueProviderEventUnlessApplied(tx, reminder, PROVIDER_EVENTS_QUEUE)
    }),
  )
  createJobWaker(sql, () => {}, PROVIDER_EVENTS_QUEUE)()
}

export async function untilCanceled(merchant: Merchant): Promise<void> {
  const isCanceled = async () => (await findPayment(merchant)).status === 'canceled'
  await until(merchant, isCanceled, 'the expired payment was not canceled')
}

export async function checkCanceled(merchant: Merchant): Promise<Violation[]> {
  const { status, intentId } = await findPayment(merchant)
  const theirs = await readIntentStatus(merchant, intentId)
  if (status === 'canceled' && theirs === 'canceled') return []
  return [{ invariant: 5, what: `the provider's intent is ${theirs}, the payment is ${status}` }]
}
