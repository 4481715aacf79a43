// Tests that the events that workers report for the metrics are those in the table of events.
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { AUTHORIZATION_EXPIRING } from '../../src/domain/events/event-types.ts'
import { observedEvents, silentObserver } from '../../src/engine/observer.ts'
import { runOperation } from '../../src/engine/run-phases.ts'
import { watchHolds } from '../../src/recovery/expiring-holds.ts'
import { startTestEngine, type TestEngine } from '../support/engine.ts'
import { expectLedgerBalanced } from '../support/ledger.ts'
import { deliverOf, disputed, move, paid } from './follow-dispute/disputes.ts'
import { applyAll, deliver, eventAbout } from './follow-payment/provider-events.ts'
import { captured, held } from './made-payments.ts'

let t: TestEngine
let reported: Record<string, number>

beforeAll(async () => {
  const started = await startTestEngine()
  const insertedEvents = (type: string, times: number) => {
    if (times > 0) reported[type] = (reported[type] ?? 0) + times
  }
  const observe = { ...silentObserver, insertedEvents }
  reported = {}
  t = { ...started, engine: { ...started.engine, observe } }
})
afterEach(() => expectLedgerBalanced(t.engine.store))
afterAll(() => t.stop())

/** How many events of each type are in the table. */
async function stored(): Promise<Record<string, number>> {
  const rows = await t.engine.store.sql<{ type: string; events: number }[]>`
    select type, count(*)::int as events from events group by type
  `
  return Object.fromEntries(rows.map(({ type, events }) => [type, events]))
}

async function failARefund(): Promise<void> {
  const payment = await captured(t)
  const ref = await t.acceptRefund(payment, 500)
  await runOperation(t.engine, ref)
  const { providerRefundId: objectId } = await t.readRefund(ref)
  await t.provider.control('POST', `/refunds/${objectId}/settle`, { status: 'failed' })
  const named = { ...(await t.readPayment(payment)), tenantId: payment.tenantId }
  const event = eventAbout(named, { type: 'refund.failed', objectId: objectId ?? '' })
  await deliver(t.engine, event)
  expect(await applyAll(t, [event])).toEqual(['applied'])
}

async function winADispute(): Promise<void> {
  const dispute = await disputed(t)
  await applyAll(t, [await deliverOf(t, dispute), await deliverOf(t, dispute)])
  await move(t, dispute, { status: 'won' })
  await applyAll(t, [await deliverOf(t, dispute)])
}

async function warnTwice(): Promise<void> {
  const payment = await paid(t, 'pm_card_createIssuerFraudRecord')
  const named = { ...(await t.readPayment(payment)), tenantId: payment.tenantId }
  const list = { payment_intent: named.providerPaymentId ?? '' }
  const { data } = await t.provider.stripe.radar.earlyFraudWarnings.list(list)
  for (let times = 0; times < 2; times += 1) {
    const about = {
      about: 'early_fraud_warning',
      objectId: data[0]?.id ?? '',
      subject: null,
    } as const
    await deliver(t.engine, eventAbout(named, about))
  }
}

async function announceHolds(): Promise<void> {
  const [first, second, over] = [await held(t), await held(t), await held(t)]
  await t.engine.store.sql`
    update payments set capture_before = now() + case id
      when ${first.paymentId} then interval '1 hour' when ${second.paymentId} then interval '2 hours'
      else interval '-1 minute' end
    where id in (${first.paymentId}, ${second.paymentId}, ${over.paymentId})
  `
  await watchHolds(t.engine, { AUTHORIZATION_NOTICE_SECONDS: 86_400 })
  await watchHolds(t.engine, { AUTHORIZATION_NOTICE_SECONDS: 86_400 })
}

test('a worker reports every event that it inserts, once', async () => {
  await failARefund()
  await winADispute()
  await warnTwice()
  await announceHolds()

  const inserted = await stored()
  const observed = Object.entries(inserted).filter(([type]) => observedEvents.includes(type))
  expect(reported).toEqual(Object.fromEntries(observed))
  expect(reported).toMatchObject({
    'refund.failed': 1,
    'dispute.created': 1,
    'dispute.closed': 1,
    'payment.early_fraud_warning': 1,
    [AUTHORIZATION_EXPIRING]: 2,
  })
  expect(inserted).toHaveProperty(['payment.created'])
})
