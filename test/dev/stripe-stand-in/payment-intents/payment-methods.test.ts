// Tests the outcome of each payment method against Stripe's table.
import { describe, expect, test } from '@jest/globals'
import { paymentMethods } from '../../../../dev/stripe-stand-in/payment-intents/payment-methods.ts'
import type { Stripe } from 'stripe'
import { payment } from '../running-provider.ts'
import { ownProvider } from '../../../support/own-provider.ts'

const provider = ownProvider()

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

// https://docs.stripe.com/testing
describe('the card of a payment method and of its charge', () => {
  const cardsOf = async (token: string) => {
    const { stripe } = provider
    const customer = (await stripe.customers.create()).id
    const { card } = await stripe.paymentMethods.attach(token, { customer })
    const terms = payment({ payment_method: token, expand: ['latest_charge'] })
    const paid = await stripe.paymentIntents.create(terms)
    const { payment_method_details: details } = paid.latest_charge as Stripe.Charge
    return { card, charged: details?.card }
  }

  test.each([
    ['pm_card_visa', 'visa', '4242', 'credit', 'US'],
    ['pm_card_visa_debit', 'visa', '5556', 'debit', 'US'],
    ['pm_card_mastercard', 'mastercard', '4444', 'credit', 'US'],
    ['pm_card_mastercard_debit', 'mastercard', '8210', 'debit', 'US'],
    ['pm_card_mastercard_prepaid', 'mastercard', '5100', 'prepaid', 'US'],
    ['pm_card_amex', 'amex', '8431', 'credit', 'US'],
    ['pm_card_discover', 'discover', '1117', 'credit', 'US'],
    ['pm_card_diners', 'diners', '0004', 'credit', 'US'],
    ['pm_card_jcb', 'jcb', '0505', 'credit', 'US'],
    ['pm_card_unionpay', 'unionpay', '0005', 'credit', 'US'],
    ['pm_card_createDispute', 'visa', '0259', 'credit', 'US'],
    ['pm_card_amex_threeDSecureNotSupported', 'amex', '0005', 'credit', 'US'],
  ])('%s', async (token, brand, last4, funding, country) => {
    const { card, charged } = await cardsOf(token)

    const shown = { brand, last4, funding, country, exp_month: 12, exp_year: 2034 }
    expect(card).toMatchObject({ ...shown, networks: { available: [brand], preferred: null } })
    expect(charged).toMatchObject({ ...shown, network: brand, fingerprint: card?.fingerprint })
  })

  test('has one fingerprint for each number', async () => {
    const tokens = ['pm_card_visa', 'pm_card_visa', 'pm_card_amex', 'pm_card_unionpay']

    const prints = await Promise.all(
      tokens.map(async (token) => (await cardsOf(token)).card?.fingerprint),
    )

    expect(prints[0]).toMatch(/^\w{16}$/)
    expect(prints[1]).toBe(prints[0])
    expect(new Set(prints).size).toBe(3)
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
