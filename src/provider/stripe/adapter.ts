// Joins Stripe with the service.
import { z } from 'zod'
import { httpUrl } from '../../config-formats.ts'
import { defineProvider } from '../provider-adapter.ts'
import { stripeCapabilities } from './capabilities.ts'

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
