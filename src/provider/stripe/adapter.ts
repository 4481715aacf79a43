// Joins Stripe with the service, and says what Stripe promises and can do. Its API does not return this,
// only its documentation does.
import { z } from 'zod'
import { httpUrl } from '../../config-formats.ts'
import { defineProvider } from '../provider-adapter.ts'
import { declareCapabilities } from '../capabilities.ts'

/**
 * The smallest charge in minor units, by currency; as of 2026.
 *
 * Stripe's list is by the currency in which an account is paid out. A charge in another currency
 * must be worth that minimum after conversion. The service knows neither the account's currencies
 * nor the rate, so it compares a charge with the minimum of its own currency. All other refusals
 * are left to Stripe, and so are currencies that are not listed.
 *
 * It is the minimum of a charge. Whether it also binds partial captures and refunds is not
 * documented, so these have no minimum here.
 *
 * @see https://docs.stripe.com/currencies#minimum-and-maximum-charge-amounts
 */
const chargeMinimaMinor: ReadonlyMap<string, number> = new Map([
  ['aed', 200],
  ['ars', 50],
  ['aud', 50],
  ['brl', 50],
  ['cad', 50],
  ['chf', 50],
  ['cop', 50],
  ['czk', 1_500],
  ['dkk', 250],
  ['eur', 50],
  ['gbp', 30],
  ['hkd', 400],
  ['huf', 17_500],
  ['idr', 50],
  ['ils', 50],
  ['inr', 50],
  ['jpy', 50],
  ['krw', 50],
  ['mxn', 1_000],
  ['myr', 200],
  ['nok', 300],
  ['nzd', 50],
  ['php', 50],
  ['pln', 200],
  ['ron', 200],
  ['rub', 50],
  ['sek', 300],
  ['sgd', 50],
  ['thb', 1_000],
  ['usd', 50],
  ['zar', 50],
])

/**
 * The currencies in which every amount is a multiple of a number of minor units. Two have no
 * fractions any more, but are still sent with two decimals. The others have three decimals, and the
 * last digit must be 0, in refunds, too. This holds for parts of a payment: a fraction that cannot
 * be charged cannot be captured or refunded either.
 *
 * Forints and New Taiwan dollars are whole in payouts only.
 *
 * @see https://docs.stripe.com/currencies#special-cases
 * @see https://docs.stripe.com/currencies?presentment-currency=AE#three-decimal
 */
const amountSteps: ReadonlyMap<string, number> = new Map([
  ['isk', 100],
  ['ugx', 100],
  ['bhd', 10],
  ['jod', 10],
  ['kwd', 10],
  ['omr', 10],
  ['tnd', 10],
])

export const stripeCapabilities = declareCapabilities({
  /**
   * Keys may be removed after 24 hours. The first result is kept, also that of a `500`.
   *
   * @see https://docs.stripe.com/api/idempotent_requests
   * @see https://docs.stripe.com/error-low-level a failed call may be completed later
   */
  keys: { keptSeconds: 24 * 60 * 60, keepsFailures: true },
  /**
   * Not documented. Stripe's own packages wait 80 seconds for an answer, from which the default of
   * `PROVIDER_SETTLE_SECONDS` follows.
   *
   * @see https://github.com/stripe/stripe-go/blob/master/stripe.go DefaultHTTPTimeout
   */
  settleSeconds: null,
  /** Its lists are complete, unlike its search. @see https://docs.stripe.com/search#data-freshness */
  lookUpLagSeconds: 0,
  /** @see https://docs.stripe.com/payments/place-a-hold-on-a-payment-method#capture-funds */
  partialCapture: true,
  /** @see https://docs.stripe.com/api/payment_intents/increment_authorization */
  incrementalAuthorization: true,
  /** @see https://docs.stripe.com/api/payment_intents/cancel */
  void: true,
  /** @see https://docs.stripe.com/currencies#presentment-currencies */
  everyCurrency: true,
  /** @see https://docs.stripe.com/refunds#failed-refunds */
  refundsMayFail: true,
  /** @see https://docs.stripe.com/payments/3d-secure/authentication-flow */
  authentication: true,
  /** The unit of the API is Stripe's, for every currency. */
  amounts: { currencies: null, chargeMinimaMinor, steps: amountSteps },
})

export const stripeSettings = {
  STRIPE_SECRET_KEY: z
    .string()
    .regex(/^(sk|rk)_/, 'must be a Stripe secret key, sk_... or rk_...')
    .optional(),
  STRIPE_API_BASE: httpUrl.optional(),
  STRIPE_WEBHOOK_SECRET: z
    .string()
    .regex(/^whsec_\S+$/, 'must be the signing secret of a webhook endpoint, whsec_...')
    .optional(),
}

export const stripe = defineProvider({
  name: 'stripe',
  title: 'Stripe',
  settings: stripeSettings,
  keys: ['STRIPE_SECRET_KEY'],
  missingKeys: 'STRIPE_SECRET_KEY is not set; `npm start` starts a Stripe stand-in',
  apiBase: 'STRIPE_API_BASE',
  capabilities: stripeCapabilities,
  async open({ STRIPE_SECRET_KEY: secretKey, STRIPE_API_BASE: apiBase }, { returnUrl, ...parts }) {
    const { createStripeProvider } = await import('./stripe-provider.ts')
    const { timeoutMs, resolve, clock, readsPerSecond, limited } = parts
    return createStripeProvider({
      secretKey,
      apiBase,
      timeoutMs,
      ...(returnUrl && { returnUrl }),
      resolve,
      clock,
      readsPerSecond,
      rateLimited: limited,
    })
  },
  events: {
    secrets: ['STRIPE_WEBHOOK_SECRET'],
    /** @see https://docs.stripe.com/webhooks#best-practices */
    route: {
      path: '/provider/webhooks',
      operationId: 'receiveProviderEvent',
      description:
        'Receives a webhook of Stripe. The signature authenticates the sender. The event is stored and acknowledged first, and applied afterwards. The endpoint exists only when the service is configured with the secret of the webhook.',
      signatureHeader: {
        name: 'Stripe-Signature',
        description:
          'The time and the signature of the event; see https://docs.stripe.com/webhooks#verify-manually.',
      },
      example: { id: 'evt_1', object: 'event' },
    },
    async read({ STRIPE_WEBHOOK_SECRET: secret }) {
      const { createStripeEventReader } = await import('./webhooks.ts')
      return createStripeEventReader({ secret, now: Date.now })
    },
  },
})
