// Tests the outcome of each payment method against Stripe's table.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { paymentMethods } from '../../../../dev/stripe-stand-in/payment-intents/payment-methods.ts'
import { payment, startProvider, type RunningProvider } from '../running-provider.ts'

let provider: RunningProvider

beforeAll(async () => {
  provider = await startProvider()
})
beforeEach(async () => {
  await provider.control('POST', '/reset')
})
afterAll(async () => provider.close())

const cards = paymentMethods.filter(({ fault }) => fault === undefined)
const approved = cards.filter(({ outcome }) => outcome.kind === 'approve')
const declined = cards.flatMap(({ id, outcome }) =>
  outcome.kind === 'decline' ? [{ id, ...outcome }] : [],
)
const authenticated = cards.filter(({ outcome }) => outcome.kind === 'authenticate')

test.each(approved)('$id succeeds', async ({ id }) => {
  const intent = await provider.stripe.paymentIntents.create(payment({ payment_method: id }))

  expect(intent).toMatchObject({ status: 'succeeded' })
})

describe('a declined card', () => {
  test.each(declined)('$id fails with its codes', async ({ id, code, declineCode, message }) => {
    const attempt = provider.stripe.paymentIntents.create(payment({ payment_method: id }))

    await expect(attempt).rejects.toMatchObject({
      type: 'StripeCardError',
      statusCode: 402,
      code,
      decline_code: declineCode ?? '',
      message,
      charge: expect.stringMatching(/^ch_/),
    })
  })

  // Stripe's table: https://docs.stripe.com/testing#declined-payments. The client shows a missing
  // decline code as an empty string.
  test.each([
    ['pm_card_visa_chargeDeclined', 'card_declined', 'generic_decline'],
    ['pm_card_visa_chargeDeclinedInsufficientFunds', 'card_declined', 'insufficient_funds'],
    ['pm_card_visa_chargeDeclinedLostCard', 'card_declined', 'lost_card'],
    ['pm_card_visa_chargeDeclinedStolenCard', 'card_declined', 'stolen_card'],
    ['pm_card_chargeDeclinedExpiredCard', 'expired_card', ''],
    ['pm_card_chargeDeclinedIncorrectCvc', 'incorrect_cvc', ''],
    ['pm_card_chargeDeclinedProcessingError', 'processing_error', ''],
    ['pm_card_visa_chargeDeclinedVelocityLimitExceeded', 'card_declined', 'card_velocity_exceeded'],
    ['pm_card_chargeCustomerFail', 'card_declined', 'generic_decline'],
  ])('%s, in the spelling of Stripe, fails with %s', async (id, code, declineCode) => {
    const attempt = provider.stripe.paymentIntents.create(payment({ payment_method: id }))

    await expect(attempt).rejects.toMatchObject({ code, decline_code: declineCode })
  })

  test('leaves the intent waiting for another method and executes nothing', async () => {
    const terms = payment({ payment_method: 'pm_card_chargeDeclinedLostCard' })

    const error = await provider.stripe.paymentIntents.create(terms).catch((e: unknown) => e)

    const { payment_intent: named } = error as { payment_intent: { id: string } }
    expect(await provider.stripe.paymentIntents.retrieve(named.id)).toMatchObject({
      status: 'requires_payment_method',
      payment_method: null,
      amount_received: 0,
      last_payment_error: { code: 'card_declined', decline_code: 'lost_card' },
    })
    expect(await provider.executed()).toEqual([])
  })
})

describe('a card that needs 3-D Secure', () => {
  test.each(authenticated)('$id waits for the cardholder', async ({ id }) => {
    const intent = await provider.stripe.paymentIntents.create(payment({ payment_method: id }))

    expect(intent).toMatchObject({
      status: 'requires_action',
      next_action: { type: 'use_stripe_sdk' },
      client_secret: expect.any(String),
      amount_received: 0,
    })
    expect(await provider.executed()).toEqual([])
  })

  test.each([{ error_on_requires_action: true }, { off_session: true }])(
    'fails when the cardholder is not present: %j',
    async (terms) => {
      const method = { payment_method: 'pm_card_threeDSecure2Required' }

      const attempt = provider.stripe.paymentIntents.create(payment({ ...method, ...terms }))

      await expect(attempt).rejects.toMatchObject({
        type: 'StripeCardError',
        code: 'authentication_required',
        decline_code: 'authentication_required',
        payment_intent: { status: 'requires_payment_method' },
      })
      expect(await provider.executed()).toEqual([])
    },
  )

  // https://docs.stripe.com/testing#regulatory-cards
  test.each([
    ['pm_card_threeDSecureRequiredChargeDeclined', 'generic_decline'],
    ['pm_card_authenticationRequiredChargeDeclinedInsufficientFunds', 'insufficient_funds'],
  ])('%s is declined after the cardholder passed', async (id, declineCode) => {
    const intent = await provider.stripe.paymentIntents.create(payment({ payment_method: id }))

    await provider.control('POST', `/payment_intents/${intent.id}/authenticate`, {
      outcome: 'succeed',
    })

    expect(await provider.stripe.paymentIntents.retrieve(intent.id)).toMatchObject({
      status: 'requires_payment_method',
      amount_received: 0,
      last_payment_error: { code: 'card_declined', decline_code: declineCode },
    })
    expect(await provider.executed()).toEqual([])
  })
})
