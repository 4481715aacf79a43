// Tests how long held money can be captured, and how an uncaptured hold ends
// (https://docs.stripe.com/payments/place-a-hold-on-a-payment-method), with the official client.
import { describe, expect, test } from '@jest/globals'
import type { Stripe } from 'stripe'
import { payment } from '../running-provider.ts'
import { ownProvider } from '../../../support/own-provider.ts'

const provider = ownProvider()

const DAY = 86_400
const expand = ['latest_charge']

const hold = (terms: Partial<Stripe.PaymentIntentCreateParams> = {}) =>
  provider.stripe.paymentIntents.create(payment({ capture_method: 'manual', expand, ...terms }))

const advance = (seconds: number) =>
  provider.control('POST', '/clock', { advance_seconds: seconds })

function captureBefore({ latest_charge: charge }: Stripe.PaymentIntent): number | undefined {
  return (charge as Stripe.Charge).payment_method_details?.card?.capture_before
}

const read = (id: string) => provider.stripe.paymentIntents.retrieve(id, { expand })

describe('capture_before', () => {
  test.each([
    ['7 days after a payment by the cardholder', 'pm_card_visa', false, 7 * DAY],
    [
      '4 days and 18 hours after a payment by the merchant with Visa',
      'pm_card_visa',
      true,
      410_400,
    ],
    ['7 days after one with another card', 'pm_card_mastercard', true, 7 * DAY],
  ])('is %s', async (_, method, offSession, seconds) => {
    const intent = await hold({ payment_method: method, off_session: offSession })

    const lasts = (captureBefore(intent) ?? 0) - intent.created
    expect([seconds, seconds + 1]).toContain(lasts)
  })

  test('is on the charge, which is an id unless it is expanded', async () => {
    const intent = await hold({ expand: [] })

    expect(intent.latest_charge).toMatch(/^ch_/)
    expect(await read(intent.id)).toMatchObject({
      latest_charge: {
        id: intent.latest_charge,
        object: 'charge',
        captured: false,
        refunded: false,
        payment_method_details: { type: 'card', card: { capture_before: expect.any(Number) } },
      },
    })
  })
})

describe('a hold that is not captured', () => {
  test('can be captured until its last second', async () => {
    const { id } = await hold()
    await advance(7 * DAY - 2)

    expect(await provider.stripe.paymentIntents.capture(id)).toMatchObject({ status: 'succeeded' })
  })

  test('is refused with charge_expired_for_capture until its intent is canceled', async () => {
    const { id } = await hold()
    await advance(7 * DAY + 2)

    await expect(provider.stripe.paymentIntents.capture(id)).rejects.toMatchObject({
      statusCode: 400,
      code: 'charge_expired_for_capture',
    })
    expect(await read(id)).toMatchObject({ status: 'requires_capture', cancellation_reason: null })
  })

  test('is canceled by Stripe, and its money is released', async () => {
    const { id } = await hold({ metadata: { payment: 'pay_1' } })
    await advance(7 * DAY + 120)

    expect(await read(id)).toMatchObject({
      status: 'canceled',
      cancellation_reason: 'automatic',
      amount_capturable: 0,
      canceled_at: expect.any(Number),
    })
    expect(await provider.executed()).toMatchObject([
      { kind: 'payment_intent.create' },
      { kind: 'payment_intent.cancel', amount: 1000, idempotency_key: null },
    ])
  })
})
