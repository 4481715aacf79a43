// Tests refunds, with the official client.
import { beforeEach, describe, expect, test } from '@jest/globals'
import type { Stripe } from 'stripe'
import { payment } from '../running-provider.ts'
import { ownProvider } from '../../../support/own-provider.ts'

const provider = ownProvider()
let paid: Stripe.PaymentIntent

beforeEach(async () => {
  paid = await provider.stripe.paymentIntents.create(payment())
})

describe('create', () => {
  test('refuses more than the remaining amount', async () => {
    await provider.stripe.refunds.create({ payment_intent: paid.id, amount: 700 })

    const attempt = provider.stripe.refunds.create({ payment_intent: paid.id, amount: 301 })

    await expect(attempt).rejects.toMatchObject({
      statusCode: 400,
      param: 'amount',
      message: 'Refund amount (301 EUR) is greater than unrefunded amount on charge (300 EUR)',
    })
    expect(await provider.executed()).toHaveLength(2)
  })

  test('refuses a fully refunded payment', async () => {
    await provider.stripe.refunds.create({ payment_intent: paid.id })

    const attempt = provider.stripe.refunds.create({ payment_intent: paid.id })

    await expect(attempt).rejects.toMatchObject({ code: 'charge_already_refunded' })
  })

  test('refuses an authorised payment', async () => {
    const held = await provider.stripe.paymentIntents.create(payment({ capture_method: 'manual' }))

    const attempt = provider.stripe.refunds.create({ payment_intent: held.id })

    await expect(attempt).rejects.toMatchObject({
      code: 'payment_intent_unexpected_state',
      payment_intent: { status: 'requires_capture' },
    })
  })

  test.each([
    ['an unknown payment', { payment_intent: 'pi_x' }, 404, 'resource_missing'],
    ['an unknown charge', { charge: 'ch_x' }, 404, 'resource_missing'],
    ['neither a payment nor a charge', {}, 400, 'parameter_missing'],
  ])('refuses %s', async (_case, params, statusCode, code) => {
    await expect(provider.stripe.refunds.create(params)).rejects.toMatchObject({ statusCode, code })
  })
})

describe('what becomes of a refund later', () => {
  const refundWith = async (payment_method: string) => {
    const intent = await provider.stripe.paymentIntents.create(payment({ payment_method }))
    return await provider.stripe.refunds.create({ payment_intent: intent.id })
  }
  const retrieve = (id: string) => provider.stripe.refunds.retrieve(id)
  const later = () => provider.control('POST', '/clock', { advance_seconds: 10 })
  const movementsOf = async (source: string) =>
    (await provider.stripe.balanceTransactions.list({ source })).data.map(
      ({ id, type, amount }) => ({ id, type, amount }),
    )

  test('pm_card_pendingRefund: it begins as pending, and succeeds', async () => {
    const { id, status } = await refundWith('pm_card_pendingRefund')
    expect(status).toBe('pending')

    await later()

    expect(await retrieve(id)).toMatchObject({ status: 'succeeded' })
  })

  test('pm_card_refundFail: it begins as succeeded, and fails; its money is on the balance again', async () => {
    const { id, status, amount } = await refundWith('pm_card_refundFail')
    expect(status).toBe('succeeded')

    await later()

    const [returned, given] = await movementsOf(id)
    expect(given).toMatchObject({ type: 'refund', amount: -amount })
    expect(returned).toMatchObject({ type: 'refund_failure', amount })
    expect(await retrieve(id)).toMatchObject({
      status: 'failed',
      failure_reason: 'unknown',
      failure_balance_transaction: returned?.id,
    })
  })
})
