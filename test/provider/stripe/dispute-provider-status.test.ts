// Tests where a dispute stands by its record: what its movements took and gave back, and records that
// make no sense.
import { expect, test } from '@jest/globals'
import { disputeProviderStatusOf } from '../../../src/provider/stripe/disputes/disputes.ts'

const taken = { amount: -1_000, fee: 1_500, currency: 'usd' }
const returned = { amount: 1_000, fee: 0, currency: 'usd' }

const record = (members: object) => ({
  amount: 1_000,
  currency: 'usd',
  reason: 'fraudulent',
  status: 'needs_response',
  evidence_details: { due_by: 1_800_000_000 },
  balance_transactions: [],
  ...members,
})

const movedBy = (...balance_transactions: object[]) => {
  const providerStatus = disputeProviderStatusOf(record({ balance_transactions }))
  return (
    providerStatus && [
      providerStatus.withdrawnMinor,
      providerStatus.reinstatedMinor,
      providerStatus.feeMinor,
    ]
  )
}

test('sums what was taken, given back and charged', () => {
  expect(movedBy()).toEqual([0, 0, 0])
  expect(movedBy(taken)).toEqual([1_000, 0, 1_500])
  expect(movedBy(taken, { ...returned, fee: -1_500 })).toEqual([1_000, 1_000, 0])
  expect(movedBy(taken, { ...returned, amount: 400 })).toEqual([1_000, 400, 1_500])
})

test('has the amount of the dispute when the balance has another currency', () => {
  const exchanged = { amount: -913, fee: 1_400, currency: 'eur' }
  const providerStatus = disputeProviderStatusOf(record({ balance_transactions: [exchanged] }))

  expect(providerStatus).toMatchObject({
    withdrawnMinor: 1_000,
    currency: 'usd',
    feeMinor: 1_400,
    feeCurrency: 'eur',
  })
})

test.each([
  { status: 'a_new_status' },
  { amount: 0 },
  { amount: '1000' },
  { currency: 5 },
  { reason: null },
  { balance_transactions: null },
  { balance_transactions: [{ ...taken, amount: 1.5 }] },
  { balance_transactions: [{ ...taken, currency: null }] },
  { balance_transactions: [taken, { ...taken, currency: 'eur' }] },
])('is not known from a record with %j', (members) => {
  expect(disputeProviderStatusOf(record(members))).toBeUndefined()
})
