// Tests that a dispute whose events are all lost is found by the reconciliation, and that a dispute of a
// charge that is not ours is a finding.
import { beforeEach, expect, test } from '@jest/globals'
import { emptyTables } from '../../support/empty-tables.ts'
import { t } from '../../support/own-engine.ts'
import { applyAll, applyComparisons, compare } from '../follow-payment/provider-events.ts'
import { AMOUNT_MINOR } from '../amount.ts'
import { deliverOf, disputed, FEE, move, paid, stateOf } from './disputes.ts'

beforeEach(() => emptyTables(t.engine.store.sql))

const DAY_MS = 24 * 60 * 60 * 1_000

async function advance(days: number): Promise<void> {
  await t.provider.control('POST', '/clock', { advance_seconds: (days * DAY_MS) / 1_000 })
}

const withdrawal = [`dispute disputes ${AMOUNT_MINOR}`, `provider_fee provider_fees ${FEE}`]
const reinstatement = `dispute_reversal provider_receivable ${AMOUNT_MINOR}`

test('finds a dispute by its movement and an inquiry without one, and no difference afterwards', async () => {
  await paid(t)
  const { payment } = await disputed(t)
  const inquiry = await disputed(t, 'pm_card_createDisputeInquiry')

  expect(await compare(t)).toMatchObject({ repaired: 2, found: 0 })
  await applyComparisons(t)

  expect(await stateOf(t, payment)).toMatchObject({
    disputes: ['needs_response'],
    ledger: withdrawal,
  })
  const inquired = { disputes: ['warning_needs_response'] }
  expect(await stateOf(t, inquiry.payment)).toMatchObject(inquired)
  expect(await compare(t)).toMatchObject({ repaired: 0, found: 0 })
})

test('finds that an old dispute is lost, and by its movement of today that one has turned won', async () => {
  const [lost, won] = [await disputed(t), await disputed(t)]
  await move(t, won, { status: 'lost' })
  await applyAll(t, [await deliverOf(t, lost), await deliverOf(t, won)])
  await move(t, lost, { status: 'lost' })
  await advance(20)
  await move(t, won, { status: 'won' })

  expect(await compare(t, 20)).toMatchObject({ repaired: 2, found: 0 })
  await applyComparisons(t)

  expect(await stateOf(t, lost.payment)).toMatchObject({ disputes: ['lost'] })
  expect(await stateOf(t, won.payment)).toMatchObject({
    disputes: ['won'],
    ledger: [...withdrawal, reinstatement].toSorted(),
  })
  expect(await compare(t, 20)).toMatchObject({ repaired: 0, found: 0 })
})

test('reports a dispute that is not ours, and movements that differ from the ledger or are missing', async () => {
  const { id: payment_intent } = await t.provider.stripe.paymentIntents.create({
    amount: 1_000,
    currency: 'usd',
    confirm: true,
    return_url: 'https://example.com/',
    payment_method: 'pm_card_visa',
  })
  const [changed, gone] = [await disputed(t), await disputed(t)]
  await applyAll(t, [await deliverOf(t, changed), await deliverOf(t, gone)])
  const { data } = await t.provider.stripe.balanceTransactions.list({ type: 'adjustment' })
  const [last, first] = data
  await t.provider.control('POST', `/objects/${first?.id}`, { amount: -1 })
  await t.provider.control('DELETE', `/objects/${last?.id}`)
  await t.provider.control('POST', `/objects/${gone.objectId}`, { balance_transactions: [] })
  const { id } = await t.provider.control<{ id: string }>('POST', '/disputes', { payment_intent })

  await compare(t)

  const findings = await t.engine.store.sql<{ kind: string; object_id: string }[]>`
    select kind, object_id from reconciliation_findings
  `
  expect(findings).toEqual(
    expect.arrayContaining([
      { kind: 'missing_here', object_id: id },
      { kind: 'ledger_differs', object_id: first?.id },
      { kind: 'missing_there', object_id: expect.stringMatching(/^ltx_/) },
    ]),
  )
})
