// Tests that a dispute whose events are all lost is found by the reconciliation, and that a dispute of a
// charge that is not ours is a finding.
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { insertRun } from '../../../src/db/reconciliation/reconciliation-runs.ts'
import { applyProviderEvent } from '../../../src/operations/apply-provider-event.ts'
import { carryOutRun } from '../../../src/reconciliation/carry-out-run.ts'
import { startTestEngine, type TestEngine } from '../../support/engine.ts'
import { expectLedgerBalanced } from '../../support/ledger.ts'
import { applyAll, runWaiting } from '../follow-payment/provider-events.ts'
import { AMOUNT_MINOR } from '../amount.ts'
import { deliverOf, disputed, FEE, move, paid, stateOf } from './disputes.ts'

let t: TestEngine

beforeEach(async () => {
  t = await startTestEngine()
})
afterEach(async () => {
  await expectLedgerBalanced(t.engine.store)
  await t.stop()
})

const DAY_MS = 24 * 60 * 60 * 1_000

/** Compares a day; `daysAhead` moves it into the future. */
async function compare(daysAhead = 0) {
  const from = new Date(Date.now() - DAY_MS / 2 + daysAhead * DAY_MS)
  const to = new Date(from.getTime() + DAY_MS)
  const request = { provider: 'stripe', from, to, requestedBy: 'test' }
  const run = await insertRun(t.engine.store.sql, request)
  return await carryOutRun(t.engine, run.id)
}

async function applyComparisons(): Promise<void> {
  const refs = await t.engine.store.sql<{ provider: string; id: string }[]>`
    select provider, id from provider_events where type = 'comparison' and status = 'pending'
  `
  for (const ref of refs) await applyProviderEvent(t.engine, ref)
  await runWaiting(t)
  for (const ref of refs) await applyProviderEvent(t.engine, ref)
}

async function advance(days: number): Promise<void> {
  await t.provider.control('POST', '/clock', { advance_seconds: (days * DAY_MS) / 1_000 })
}

const withdrawal = [`dispute disputes ${AMOUNT_MINOR}`, `provider_fee provider_fees ${FEE}`]
const reinstatement = `dispute_reversal provider_receivable ${AMOUNT_MINOR}`

test('finds a dispute by its movement, and no difference afterwards', async () => {
  const { payment } = await disputed(t)

  expect(await compare()).toMatchObject({ repaired: 1, found: 0 })
  await applyComparisons()

  expect(await stateOf(t, payment)).toMatchObject({
    disputes: ['needs_response'],
    ledger: withdrawal,
  })
  expect(await compare()).toMatchObject({ repaired: 0, found: 0 })
})

test('finds an inquiry, which has no movement', async () => {
  const { payment } = await disputed(t, 'pm_card_createDisputeInquiry')

  expect(await compare()).toMatchObject({ repaired: 1, found: 0 })
  await applyComparisons()

  expect(await stateOf(t, payment)).toMatchObject({ disputes: ['warning_needs_response'] })
})

test('finds that an old dispute is lost, without a movement', async () => {
  const dispute = await disputed(t)
  await applyAll(t, [await deliverOf(t, dispute)])
  await move(t, dispute, { status: 'lost' })

  expect(await compare(30)).toMatchObject({ repaired: 1, found: 0 })
  await applyComparisons()

  expect(await stateOf(t, dispute.payment)).toMatchObject({ disputes: ['lost'] })
})

test('finds that an old lost dispute has turned won by its movement of today', async () => {
  const dispute = await disputed(t)
  await move(t, dispute, { status: 'lost' })
  await applyAll(t, [await deliverOf(t, dispute)])
  await advance(20)
  await move(t, dispute, { status: 'won' })

  expect(await compare(20)).toMatchObject({ repaired: 1, found: 0 })
  await applyComparisons()

  expect(await stateOf(t, dispute.payment)).toMatchObject({
    disputes: ['won'],
    ledger: [...withdrawal, reinstatement].toSorted(),
  })
  expect(await compare(20)).toMatchObject({ repaired: 0, found: 0 })
})

test('reports a dispute of a charge that is not ours', async () => {
  const { id: payment_intent } = await t.provider.stripe.paymentIntents.create({
    amount: 1_000,
    currency: 'usd',
    confirm: true,
    return_url: 'https://example.com/',
    payment_method: 'pm_card_visa',
  })
  const { id } = await t.provider.control<{ id: string }>('POST', '/disputes', { payment_intent })

  await compare()

  const findings = await t.engine.store.sql<{ kind: string }[]>`
    select kind from reconciliation_findings where object_id = ${id}
  `
  expect(findings).toEqual([{ kind: 'missing_here' }])
})

test('reports a movement that differs from the ledger', async () => {
  const dispute = await disputed(t)
  await applyAll(t, [await deliverOf(t, dispute)])
  const { data } = await t.provider.stripe.balanceTransactions.list({ type: 'adjustment' })
  await t.provider.control('POST', `/objects/${data[0]?.id ?? ''}`, { amount: -1 })

  expect(await compare()).toMatchObject({ found: 1 })
})

test('reports a posted movement that the provider does not have', async () => {
  const dispute = await disputed(t)
  await applyAll(t, [await deliverOf(t, dispute)])
  const { data } = await t.provider.stripe.balanceTransactions.list({ type: 'adjustment' })
  await t.provider.control('DELETE', `/objects/${data[0]?.id ?? ''}`)
  await t.provider.control('POST', `/objects/${dispute.objectId}`, { balance_transactions: [] })

  expect(await compare()).toMatchObject({ found: 1 })
})

test('finds no difference in a payment without a dispute', async () => {
  await paid(t)

  expect(await compare()).toMatchObject({ repaired: 0, found: 0 })
})
