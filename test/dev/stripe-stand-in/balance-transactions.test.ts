// Tests movements on the balance, with the official client: one for each capture and each refund.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Stripe } from 'stripe'
import { payment, startProvider, type RunningProvider } from './running-provider.ts'

const T0_MS = 1_800_000_000_000

let provider: RunningProvider

beforeAll(async () => {
  provider = await startProvider({ systemNow: () => T0_MS })
})
beforeEach(async () => {
  await provider.control('POST', '/reset')
})
afterAll(async () => provider.close())

const hold = () => provider.stripe.paymentIntents.create(payment({ capture_method: 'manual' }))

async function movements(params: Stripe.BalanceTransactionListParams = {}) {
  return (await provider.stripe.balanceTransactions.list(params)).data
}

test('a capture adds the captured amount, less a fee', async () => {
  const { id } = await hold()
  await provider.control('POST', '/clock', { advance_seconds: 60 })
  const { latest_charge } = await provider.stripe.paymentIntents.capture(id, {
    amount_to_capture: 400,
  })

  expect(await movements()).toEqual([
    expect.objectContaining({
      id: expect.stringMatching(/^txn_/),
      object: 'balance_transaction',
      type: 'charge',
      amount: 400,
      fee: 42,
      net: 358,
      currency: 'eur',
      source: latest_charge,
      created: T0_MS / 1000 + 60,
      status: 'available',
    }),
  ])
})

test('an automatic capture moves money at creation, confirmation or authentication', async () => {
  const { paymentIntents } = provider.stripe
  await paymentIntents.create(payment({ amount: 100 }))
  const later = await paymentIntents.create(payment({ amount: 200, confirm: false }))
  await paymentIntents.confirm(later.id)
  const method = { payment_method: 'pm_card_threeDSecureRequired' }
  const waiting = await paymentIntents.create(payment({ amount: 300, ...method }))
  const route = `/payment_intents/${waiting.id}/authenticate`
  await provider.control('POST', route, { outcome: 'succeed' })

  expect((await movements()).map(({ amount }) => amount)).toEqual([300, 200, 100])
})

test('a held, canceled or declined payment moves nothing', async () => {
  await hold()
  await provider.stripe.paymentIntents.cancel((await hold()).id)
  const declined = payment({ payment_method: 'pm_card_chargeDeclined' })
  await expect(provider.stripe.paymentIntents.create(declined)).rejects.toThrow('declined')

  expect(await movements()).toEqual([])
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

test('a replay of a capture or a refund moves nothing', async () => {
  const { id } = await hold()
  const capture = () =>
    provider.stripe.paymentIntents.capture(id, {}, { idempotencyKey: 'capture-1' })
  const refund = () =>
    provider.stripe.refunds.create({ payment_intent: id }, { idempotencyKey: 'refund-1' })
  await capture()
  await capture()
  await refund()
  await refund()

  expect((await movements()).map(({ amount }) => amount)).toEqual([-1000, 1000])
})

describe('expand', () => {
  test('replaces the source by the refund or by the charge with its payment', async () => {
    const metadata = { order: '7' }
    const paid = await provider.stripe.paymentIntents.create(payment({ metadata }))
    const refund = await provider.stripe.refunds.create({ payment_intent: paid.id, amount: 300 })

    const [refunded, charge] = await movements({ expand: ['data.source'] })

    expect(refunded?.source).toEqual(JSON.parse(JSON.stringify(refund)))
    expect(charge?.source).toMatchObject({
      id: paid.latest_charge,
      object: 'charge',
      payment_intent: paid.id,
      amount_captured: 1000,
      amount_refunded: 300,
      balance_transaction: charge?.id,
      metadata,
    })
    const alone = await provider.stripe.balanceTransactions.retrieve(charge?.id ?? '', {
      expand: ['source'],
    })
    expect(alone).toMatchObject({ source: { payment_intent: paid.id } })
  })

  test('refuses any other property', async () => {
    const list = movements({ expand: ['data.payout'] })

    await expect(list).rejects.toMatchObject({
      statusCode: 400,
      message: 'This property cannot be expanded (data.payout).',
    })
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

test('answers 404 for an unknown movement', async () => {
  const unknown = provider.stripe.balanceTransactions.retrieve('txn_x')

  await expect(unknown).rejects.toMatchObject({ statusCode: 404, code: 'resource_missing' })
})
