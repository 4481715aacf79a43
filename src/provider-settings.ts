// The settings of the payment providers, and what they need of one another.
import { z } from 'zod'
import { isCurrency } from './domain/payments/currency.ts'

const httpUrl = z.url({ protocol: /^https?$/, error: 'must be an http:// or https:// URL' })
const braintreeId = z.string().regex(/^[\w-]{1,100}$/, 'must be a key or an id of Braintree')

/** `eur=acme_eur,usd=acme_usd`, as an object. */
const merchantAccounts = z.string().transform((text, context): Record<string, string> => {
  const pairs = text.split(',').map((pair) => pair.trim().split('='))
  const isRight = pairs.every(
    ([currency = '', account = '', ...more]) =>
      isCurrency(currency) && /^[\w-]{1,100}$/.test(account) && more.length === 0,
  )
  const currencies = new Set(pairs.map(([currency]) => currency))
  if (isRight && currencies.size === pairs.length) return Object.fromEntries(pairs)
  context.addIssue({
    code: 'custom',
    message: 'must be a list of <currency>=<merchant account>, such as eur=acme_eur,usd=acme_usd',
  })
  return z.NEVER
})

export const providerSettings = {
  PROVIDER: z.enum(['stripe', 'braintree']).default('stripe'),
  STRIPE_SECRET_KEY: z
    .string()
    .regex(/^(sk|rk)_/, 'must be a Stripe secret key, sk_... or rk_...')
    .optional(),
  STRIPE_API_BASE: httpUrl.optional(),
  STRIPE_WEBHOOK_SECRET: z
    .string()
    .regex(/^whsec_\S+$/, 'must be the signing secret of a webhook endpoint, whsec_...')
    .optional(),
  BRAINTREE_ENVIRONMENT: z.enum(['production', 'sandbox']).default('production'),
  BRAINTREE_MERCHANT_ID: braintreeId.optional(),
  BRAINTREE_PUBLIC_KEY: braintreeId.optional(),
  BRAINTREE_PRIVATE_KEY: braintreeId.optional(),
  BRAINTREE_MERCHANT_ACCOUNTS: merchantAccounts.optional(),
  BRAINTREE_REQUEST_KEYS: z.stringbool().default(false),
  BRAINTREE_API_BASE: httpUrl.optional(),
}

interface BraintreeSettings {
  readonly BRAINTREE_MERCHANT_ID?: string | undefined
  readonly BRAINTREE_PUBLIC_KEY?: string | undefined
  readonly BRAINTREE_PRIVATE_KEY?: string | undefined
}

/** The keys of Braintree are used together. */
export function areKeysComplete(settings: BraintreeSettings): boolean {
  const { BRAINTREE_MERCHANT_ID: id, BRAINTREE_PUBLIC_KEY, BRAINTREE_PRIVATE_KEY } = settings
  const given = [id, BRAINTREE_PUBLIC_KEY, BRAINTREE_PRIVATE_KEY].filter((key) => key !== undefined)
  return given.length === 0 || given.length === 3
}

export const needsAllKeys = {
  path: ['BRAINTREE_MERCHANT_ID'],
  error: 'needs BRAINTREE_PUBLIC_KEY and BRAINTREE_PRIVATE_KEY, and they need it',
}
