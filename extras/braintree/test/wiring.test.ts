// Tests when the settings give a process Braintree.
import { describe, expect, test } from '@jest/globals'
import { ConfigError } from '../../../src/config-formats.ts'
import { wiredProviders } from '../../../test/support/wired-providers.ts'

const STRIPE = { STRIPE_SECRET_KEY: 'sk_test_1', STRIPE_WEBHOOK_SECRET: 'whsec_1' }
const BRAINTREE = {
  BRAINTREE_MERCHANT_ID: 'acme',
  BRAINTREE_PUBLIC_KEY: 'public',
  BRAINTREE_PRIVATE_KEY: 'private',
  BRAINTREE_MERCHANT_ACCOUNTS: 'eur=acme_eur,usd=acme_usd',
}

const wired = wiredProviders()

test.each([
  ['both', { ...STRIPE, ...BRAINTREE }, ['stripe', 'braintree']],
  ['Braintree', { PROVIDER: 'braintree', ...BRAINTREE }, ['braintree']],
])('the keys of %s give its adapter', async (_title, settings, names) => {
  expect(await wired.names(settings)).toEqual(names)
})

test('events are read of the providers whose secrets are set', async () => {
  expect(await wired.readers({ ...STRIPE, ...BRAINTREE })).toEqual(['stripe', 'braintree'])
})

describe('a process does not start', () => {
  const { BRAINTREE_PUBLIC_KEY: _key, ...incomplete } = BRAINTREE
  const { BRAINTREE_MERCHANT_ACCOUNTS: _accounts, ...withoutAccounts } = BRAINTREE

  test.each<[string, Record<string, string>, RegExp]>([
    ['a provider without its keys', { PROVIDER: 'braintree', ...STRIPE }, /BRAINTREE_MERCHANT_ID/],
    ['a part of the keys', { ...STRIPE, ...incomplete }, /BRAINTREE_PUBLIC_KEY/],
    ['no merchant accounts', { ...STRIPE, ...withoutAccounts }, /BRAINTREE_MERCHANT_ACCOUNTS/],
    [
      'a currency that is none',
      { ...STRIPE, ...BRAINTREE, BRAINTREE_MERCHANT_ACCOUNTS: 'EUR=acme' },
      /must be a list of/,
    ],
    [
      'a currency twice',
      { ...STRIPE, ...BRAINTREE, BRAINTREE_MERCHANT_ACCOUNTS: 'eur=a,eur=b' },
      /must be a list of/,
    ],
  ])('with %s', async (_title, settings, reason) => {
    await expect(wired.names(settings)).rejects.toThrow(ConfigError)
    await expect(wired.names(settings)).rejects.toThrow(reason)
  })
})
