import { describe, expect, test } from '@jest/globals'
import {
  feeFor,
  postingOfProviderFee,
  postingsOfCapture,
  postingsOfRefund,
  type Posting,
} from '../../../src/domain/ledger/ledger.ts'
import { AMOUNT_MAX_MINOR } from '../../../src/domain/payments/payment.ts'
import { seededRandom } from '../../support/seeded-random.ts'

const NONE = { basisPoints: 0, fixedMinor: 0 }

/** The change of each account by the postings; debits are positive. */
function balancesOf(postings: readonly Posting[]): Record<string, number> {
  const balances: Record<string, number> = {}
  for (const { debit, credit, amountMinor } of postings) {
    balances[debit] = (balances[debit] ?? 0) + amountMinor
    balances[credit] = (balances[credit] ?? 0) - amountMinor
  }
  return balances
}

describe('feeFor', () => {
  test.each([
    ['nothing, by default', 1999, 0, 0, 0],
    ['a share', 10_000, 290, 0, 290],
    ['a fixed fee', 10_000, 0, 30, 30],
    ['both', 10_000, 290, 30, 320],
    ['less than half a unit as none', 149, 1, 0, 0],
    ['just less than half a unit as none', 4_999, 1, 0, 0],
    ['half a unit as one', 5_000, 1, 0, 1],
    ['just less than one and a half as one', 14_999, 1, 0, 1],
    ['one and a half as two', 15_000, 1, 0, 2],
    ['the smallest amount, half of it, as one', 1, 5_000, 0, 1],
    ['the smallest amount, less than half of it, as none', 1, 4_999, 0, 0],
    ['all of it', 1999, 10_000, 0, 1999],
    ['all of it and more, as all of it', 1999, 10_000, 30, 1999],
    ['a fixed fee above the amount, as the amount', 20, 0, 30, 20],
    ['a fixed fee of the amount', 30, 0, 30, 30],
    ['the largest amount', AMOUNT_MAX_MINOR, 290, 30, 29_000_000_030],
    ['nearly all of the largest amount', AMOUNT_MAX_MINOR, 9_999, 0, 999_899_999_999],
    ['half of a unit of little as one', 50, 100, 0, 1],
    ['less than half of a unit of little as none', 49, 100, 0, 0],
  ])('computes %s', (_, amountMinor, basisPoints, fixedMinor, feeMinor) => {
    expect(feeFor(amountMinor, { basisPoints, fixedMinor })).toBe(feeMinor)
  })

  test('is a whole number from zero to the amount for every schedule', () => {
    const random = seededRandom(3)
    for (let run = 0; run < 10_000; run += 1) {
      const amountMinor = 1 + random(AMOUNT_MAX_MINOR)
      const fees = { basisPoints: random(10_001), fixedMinor: random(1_000) }

      const feeMinor = feeFor(amountMinor, fees)

      expect(Number.isSafeInteger(feeMinor)).toBe(true)
      expect(feeMinor).toBeGreaterThanOrEqual(0)
      expect(feeMinor).toBeLessThanOrEqual(amountMinor)
    }
  })
})

describe('the postings of a capture', () => {
  test('without a fee are one posting: the provider owes us what we owe the merchant', () => {
    expect(postingsOfCapture(1999, NONE)).toEqual([
      { debit: 'provider_receivable', credit: 'merchant_payable', amountMinor: 1999 },
    ])
  })

  test('with a fee deduct it from what we owe the merchant', () => {
    const postings = postingsOfCapture(10_000, { basisPoints: 290, fixedMinor: 30 })

    expect(postings).toEqual([
      { debit: 'provider_receivable', credit: 'merchant_payable', amountMinor: 10_000 },
      { debit: 'merchant_payable', credit: 'fees', amountMinor: 320 },
    ])
    expect(balancesOf(postings)).toEqual({
      provider_receivable: 10_000,
      merchant_payable: -9_680,
      fees: -320,
    })
  })

  test('with a fee that rounds to zero have no posting for it', () => {
    expect(postingsOfCapture(10, { basisPoints: 1, fixedMinor: 0 })).toHaveLength(1)
  })

  test('with a fee above the amount owe the merchant nothing', () => {
    const postings = postingsOfCapture(20, { basisPoints: 0, fixedMinor: 30 })

    expect(balancesOf(postings)).toMatchObject({ merchant_payable: 0, fees: -20 })
  })
})

test('the posting of a refund reduces what the provider owes us, and keeps the fee', () => {
  expect(postingsOfRefund(500)).toEqual([
    { debit: 'refunds', credit: 'provider_receivable', amountMinor: 500 },
  ])
})

test.each([
  ['reduces what it owes us', 88, 'provider_fees', 'provider_receivable'],
  ['that it returns increases what it owes us', -88, 'provider_receivable', 'provider_fees'],
])('the posting of a fee of the provider %s', (_, amountMinor, debit, credit) => {
  expect(postingOfProviderFee(amountMinor)).toEqual({ debit, credit, amountMinor: 88 })
})

test('a movement without a fee has no posting for it', () => {
  expect(postingOfProviderFee(0)).toBeUndefined()
})

test.each([
  ['a capture', postingsOfCapture(1999, NONE)],
  ['a capture with a fee', postingsOfCapture(1999, { basisPoints: 290, fixedMinor: 30 })],
  ['a refund', postingsOfRefund(1999)],
])('the entries of %s sum to zero, and no entry is zero', (_, postings) => {
  const balances = Object.values(balancesOf(postings))

  expect(balances.reduce((total, balance) => total + balance, 0)).toBe(0)
  for (const { debit, credit, amountMinor } of postings) {
    expect(debit).not.toBe(credit)
    expect(amountMinor).toBeGreaterThan(0)
  }
})
