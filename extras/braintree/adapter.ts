// Joins Braintree with the service. Its package is loaded only when it is used, as each process starts
// faster without it.
import { z } from 'zod'
import { ConfigError } from '../../src/config-error.ts'
import { defineProvider } from '../../src/provider/provider-adapter.ts'
import { braintreeCapabilities, braintreeCapabilitiesWithKeys } from './capabilities.ts'
import { braintreeSettings } from './settings.ts'

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
