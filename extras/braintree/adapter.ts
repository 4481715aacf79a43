// Joins Braintree with the service. Its package is loaded only when it is used, as each process starts
// faster without it.
import { z } from 'zod'
import { ConfigError, httpUrl } from '../../src/config-formats.ts'
import { defineProvider } from '../../src/provider/provider-adapter.ts'
import { braintreeCapabilities, braintreeCapabilitiesWithKeys } from './capabilities.ts'
import { isCurrency } from '../../src/domain/payments/currency.ts'

const braintreeId = z.string().regex(/^[\w-]{1,100}$/, 'must be a key or an id of Braintree')

/** `eur=acme_eur,usd=acme_usd`, as an object. */
const accountsByCurrency = z.string().transform((text, context): Record<string, string> => {
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

const braintreeSettings = {
  BRAINTREE_ENVIRONMENT: z.enum(['production', 'sandbox']).default('production'),
  BRAINTREE_MERCHANT_ID: braintreeId.optional(),
  BRAINTREE_PUBLIC_KEY: braintreeId.optional(),
  BRAINTREE_PRIVATE_KEY: braintreeId.optional(),
  BRAINTREE_MERCHANT_ACCOUNTS: accountsByCurrency.optional(),
  BRAINTREE_REQUEST_KEYS: z.stringbool().default(false),
  BRAINTREE_API_BASE: httpUrl.optional(),
}

export const braintree = defineProvider({
  name: 'braintree',
  title: 'Braintree',
  settings: braintreeSettings,
  keys: ['BRAINTREE_MERCHANT_ID', 'BRAINTREE_PUBLIC_KEY', 'BRAINTREE_PRIVATE_KEY'],
  missingKeys: 'PROVIDER is braintree, but BRAINTREE_MERCHANT_ID is not set',
  apiBase: 'BRAINTREE_API_BASE',
  capabilities: braintreeCapabilities,
  capabilitiesBy: ({ BRAINTREE_REQUEST_KEYS: sendsKeys }) =>
    sendsKeys ? braintreeCapabilitiesWithKeys : braintreeCapabilities,
  async open(settings, { timeoutMs, resolve, clock }) {
    const { BRAINTREE_MERCHANT_ACCOUNTS: merchantAccounts } = settings
    if (merchantAccounts === undefined) {
      throw new ConfigError('BRAINTREE_MERCHANT_ACCOUNTS is not set, such as eur=acme_eur')
    }
    const { createBraintreeProvider } = await import('./braintree-provider.ts')
    return createBraintreeProvider({
      ...keysIn(settings),
      environment: settings.BRAINTREE_ENVIRONMENT,
      merchantAccounts,
      sendsKeys: settings.BRAINTREE_REQUEST_KEYS,
      apiBase: settings.BRAINTREE_API_BASE,
      timeoutMs,
      resolve,
      clock,
    })
  },
  events: {
    secrets: ['BRAINTREE_MERCHANT_ID', 'BRAINTREE_PUBLIC_KEY', 'BRAINTREE_PRIVATE_KEY'],
    /**
     * The body is a form with the payload and its signature.
     *
     * @see https://developer.paypal.com/braintree/docs/guides/webhooks/parse/node
     */
    route: {
      path: '/provider/webhooks/braintree',
      operationId: 'receiveBraintreeEvent',
      description:
        'Receives a webhook of Braintree. The signature in the form authenticates the sender. The event is stored and acknowledged first, and applied afterwards. The endpoint exists only when the service has the keys of Braintree.',
      form: z.object({
        bt_signature: z.string().meta({ description: 'The signature of the payload.' }),
        bt_payload: z.string().meta({ description: 'The event.' }),
      }),
      example: { bt_signature: 'public_key|signature', bt_payload: 'PG5vdGlm...' },
    },
    async read(settings) {
      const { createBraintreeEventReader } = await import('./webhooks.ts')
      return createBraintreeEventReader({ ...keysIn(settings), now: Date.now })
    },
  },
})

interface Keys {
  readonly BRAINTREE_MERCHANT_ID: string
  readonly BRAINTREE_PUBLIC_KEY: string
  readonly BRAINTREE_PRIVATE_KEY: string
}

const keysIn = (settings: Keys) => ({
  merchantId: settings.BRAINTREE_MERCHANT_ID,
  publicKey: settings.BRAINTREE_PUBLIC_KEY,
  privateKey: settings.BRAINTREE_PRIVATE_KEY,
})
