// Tests movements on the balance, with the official client: one for each capture and each refund.
import { describe, expect, test } from '@jest/globals'
import type { Stripe } from 'stripe'
import { payment } from '../running-provider.ts'
import { ownProvider } from '../../../support/own-provider.ts'

const T0_MS = 1_800_000_000_000

const provider = ownProvider({ systemNow: () => T0_MS })

const hold = () => provider.stripe.paymentIntents.create(payment({ capture_method: 'manual' }))

async function movements(params: Stripe.BalanceTransactionListParams = {}) {
  return (await provider.stripe.balanceTransactions.list(params)).data
}

test('a capture adds the captured amount, less a fee', async () => {
  const { id } = await hold()
  await provider.control('POST', '/clock', { advance_seconds: 60 })
  const { latest_charge } = await provider.stripe.paymentIntents.capture(id)

  expect(await movements()).toEqual([
    expect.objectContaining({
      id: expect.stringMatching(/^txn_/),
      object: 'balance_transaction',
      type: 'charge',
      reporting_category: 'charge',
      amount: 1000,
      fee: 59,
      fee_details: [expect.objectContaining({ amount: 59, currency: 'eur', type: 'stripe_fee' })],
      net: 941,
      currency: 'eur',
      source: latest_charge,
      created: T0_MS / 1000 + 60,
    }),
  ])
})

describe('a partial capture', () => {
  const capturePart = async (amount_to_capture: number) => {
    const { id } = await hold()
    return await provider.stripe.paymentIntents.capture(id, { amount_to_capture })
  }

  test('makes two balance transactions: of the whole authorization, and of the rest', async () => {
    const { latest_charge } = await capturePart(400)

    const [reversal, charge] = await movements()

    expect(charge).toMatchObject({
      type: 'charge',
      reporting_category: 'charge',
      amount: 1000,
      source: latest_charge,
    })
    expect(reversal).toMatchObject({
      type: 'refund',
      reporting_category: 'partial_capture_reversal',
      amount: -600,
      source: expect.stringMatching(/^re_/),
    })
  })

  test('also lists a Refund, without metadata, which counts as refunded', async () => {
    const { id, latest_charge } = await capturePart(400)

    const expand = ['data.balance_transaction']
    const { data } = await provider.stripe.refunds.list({ payment_intent: id, expand })
    const [, charge] = await movements({ expand: ['data.source'] })

    expect(data).toEqual([
      expect.objectContaining({
        amount: 600,
        charge: latest_charge,
        metadata: {},
        reason: null,
        status: 'succeeded',
        balance_transaction: expect.objectContaining({
          reporting_category: 'partial_capture_reversal',
        }),
      }),
    ])
    expect(charge?.source).toMatchObject({
      amount: 1000,
      amount_captured: 400,
      amount_refunded: 600,
      refunded: false,
    })
  })
})

describe('the balance', () => {
  const statusOf = async (payment_method: string) => {
    await provider.stripe.paymentIntents.create(payment({ payment_method }))
    const [charge] = await movements()
    return charge?.status
  }

  test('has a new charge as pending, and as available two days later', async () => {
    expect(await statusOf('pm_card_visa')).toBe('pending')

    await provider.control('POST', '/clock', { advance_seconds: 2 * 24 * 60 * 60 })

    const [charge] = await movements()
    expect(charge).toMatchObject({ status: 'available', available_on: T0_MS / 1000 + 172_800 })
    const one = await provider.stripe.balanceTransactions.retrieve(charge?.id ?? '')
    expect(one.status).toBe('available')
  })

  test('has a charge of pm_card_bypassPending as available at once', async () => {
    expect(await statusOf('pm_card_bypassPending')).toBe('available')
  })
})

test('a refund subtracts its amount without a fee and names its movement', async () => {
  const paid = await provider.stripe.paymentIntents.create(payment())
  const refund = await provider.stripe.refunds.create({ payment_intent: paid.id, amount: 300 })

  const moved = await provider.stripe.balanceTransactions.retrieve(
    refund.balance_transaction as string,
  )
  expect(moved).toMatchObject({
    type: 'refund',
    amount: -300,
    fee: 0,
    net: -300,
    source: refund.id,
  })
})

describe('a control route', () => {
  test.each([
    ['adjustment', 'other_adjustment'],
    ['payment', 'charge'],
    ['payment_refund', 'refund'],
    ['payment_failure_refund', 'charge_failure'],
    ['payout', 'payout'],
    ['payout_failure', 'payout_reversal'],
    ['stripe_fee', 'fee'],
    ['tax_fee', 'tax'],
  ])('makes a movement of the type %s, by default of the category %s', async (type, category) => {
    const added = await provider.control('POST', '/balance_transactions', {
      type,
      amount: -500,
      currency: 'eur',
      fee: 3,
    })

    expect(added).toMatchObject({ type, reporting_category: category, amount: -500, net: -503 })
    expect(await movements({ type })).toEqual([added])
  })

  test('makes the failed refund of older records: an adjustment with a category of its own', async () => {
    const movement = { type: 'adjustment', reporting_category: 'refund_failure', amount: 500 }
    await provider.control('POST', '/balance_transactions', {
      ...movement,
      currency: 'eur',
      source: 're_1',
    })

    expect(await movements()).toMatchObject([{ ...movement, source: 're_1', status: 'available' }])
  })
})

test('filters a list by type, source and time', async () => {
  const paid = await provider.stripe.paymentIntents.create(payment())
  await provider.control('POST', '/clock', { advance_seconds: 60 })
  const refund = await provider.stripe.refunds.create({ payment_intent: paid.id })
  const [refunded, charge] = await movements()

  expect(await movements({ type: 'refund' })).toEqual([refunded])
  expect(await movements({ type: 'payout' })).toEqual([])
  expect(await movements({ source: refund.id })).toEqual([refunded])
  expect(await movements({ source: paid.latest_charge as string })).toEqual([charge])
  expect(await movements({ created: { lt: T0_MS / 1000 + 60 } })).toEqual([charge])
  expect(await movements({ limit: 1, starting_after: refunded?.id ?? '' })).toEqual([charge])
  expect(await movements({ limit: 1, ending_before: charge?.id ?? '' })).toEqual([refunded])
})
