// The settings of Braintree.
import { z } from 'zod'
import { httpUrl } from '../../src/config-formats.ts'
import { isCurrency } from '../../src/domain/payments/currency.ts'

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

export const braintreeSettings = {
  BRAINTREE_ENVIRONMENT: z.enum(['production', 'sandbox']).default('production'),
  BRAINTREE_MERCHANT_ID: braintreeId.optional(),
  BRAINTREE_PUBLIC_KEY: braintreeId.optional(),
  BRAINTREE_PRIVATE_KEY: braintreeId.optional(),
  BRAINTREE_MERCHANT_ACCOUNTS: merchantAccounts.optional(),
  BRAINTREE_REQUEST_KEYS: z.stringbool().default(false),
  BRAINTREE_API_BASE: httpUrl.optional(),
}
