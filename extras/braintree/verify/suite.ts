// Braintree as the second provider of the fault suite.
import type { OwnEntry, SecondProviderKind } from '../../../verify/faults/extras.ts'
import { correlationIn } from '../order-id.ts'
import { fixture } from '../test/fixture.ts'
import { faultNames } from '../stand-in/faults/faults.ts'

interface Entry extends OwnEntry {
  readonly order_id: string | null
}

export const secondProvider: SecondProviderKind<Entry> = {
  name: 'braintree',
  paymentMethod: 'fake-valid-nonce',
  apiBase: 'BRAINTREE_API_BASE',
  settings: (privateKey) => ({
    BRAINTREE_ENVIRONMENT: 'sandbox',
    BRAINTREE_MERCHANT_ID: 'merchant',
    BRAINTREE_PUBLIC_KEY: 'public_key',
    BRAINTREE_PRIVATE_KEY: privateKey,
    BRAINTREE_MERCHANT_ACCOUNTS: 'usd=usd_account,eur=eur_account',
  }),
  /**
   * Braintree proves the absence of a call after more than an hour, and no setting shortens that. The
   * stand-in executes nothing late, and its search shows everything at once.
   */
  shortWaits: [
    {
      file: 'extras/braintree/capabilities.ts',
      text: 'settleSeconds: 60,',
      replacement: 'settleSeconds: 1,',
    },
    {
      file: 'extras/braintree/capabilities.ts',
      text: 'lookUpLagSeconds: 60 * 60,',
      replacement: 'lookUpLagSeconds: 0,',
    },
  ],
  requests: {
    calls: fixture.calls,
    root: '/merchants/[^/]+',
    reads: {
      look: /^GET \/merchants\/[^/]+\/transactions\/[^/]+$/,
      dispute: /^GET \/merchants\/[^/]+\/disputes\/[^/]+$/,
      list: /^\w+ \/merchants\//,
    },
  },
  standIn: {
    script: 'extras/braintree/stand-in/main.ts',
    port: 'BRAINTREE_STAND_IN_PORT',
    faults: faultNames,
    // An account can have its check for duplicates switched off.
    settings: { duplicate_seconds: 0 },
  },
  idsOf: ({ order_id: orderId }) => correlationIn(orderId),
}
