// Tests which providers the settings give a process.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { pino } from 'pino'
import { ConfigError, readConfig } from '../src/config.ts'
import type { Store } from '../src/db/connection/client.ts'
import { silentObserver } from '../src/engine/observer.ts'
import { wireEventReaders, wireProviders } from '../src/wire-providers.ts'
import { openTestStore } from './db/reservations.ts'
import { createTestDatabase, type TestDatabase } from './support/database.ts'

let database: TestDatabase
let store: Store

beforeAll(async () => {
  database = await createTestDatabase()
  store = openTestStore(database.url, 1)
})
afterAll(async () => {
  await store.close()
  await database.drop()
})

const STRIPE = { STRIPE_SECRET_KEY: 'sk_test_1', STRIPE_WEBHOOK_SECRET: 'whsec_1' }
const BRAINTREE = {
  BRAINTREE_MERCHANT_ID: 'acme',
  BRAINTREE_PUBLIC_KEY: 'public',
  BRAINTREE_PRIVATE_KEY: 'private',
  BRAINTREE_MERCHANT_ACCOUNTS: 'eur=acme_eur,usd=acme_usd',
}

async function namesOf(settings: Record<string, string>) {
  const base = { store, observe: silentObserver, log: pino({ level: 'silent' }) }
  const { all } = await wireProviders(readConfig(settings), base)
  return all.map(({ name }) => name)
}

test.each([
  ['Stripe', STRIPE, ['stripe']],
  ['both', { ...STRIPE, ...BRAINTREE }, ['stripe', 'braintree']],
  ['Braintree', { PROVIDER: 'braintree', ...BRAINTREE }, ['braintree']],
])('the keys of %s give its adapter', async (_title, settings, names) => {
  expect(await namesOf(settings)).toEqual(names)
})

test('events are read of the providers whose secrets are set', async () => {
  const names = async (settings: object) => [
    ...(await wireEventReaders(readConfig({ ...settings }))).keys(),
  ]

  expect(await names(STRIPE)).toEqual(['stripe'])
  expect(await names({ ...STRIPE, ...BRAINTREE })).toEqual(['stripe', 'braintree'])
  expect(await names({})).toEqual([])
})

describe('a process does not start', () => {
  const { BRAINTREE_PUBLIC_KEY: _key, ...incomplete } = BRAINTREE
  const { BRAINTREE_MERCHANT_ACCOUNTS: _accounts, ...withoutAccounts } = BRAINTREE

  test.each<[string, Record<string, string>, RegExp]>([
    ['no key of the provider', {}, /STRIPE_SECRET_KEY is not set/],
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
    await expect(namesOf(settings)).rejects.toThrow(ConfigError)
    await expect(namesOf(settings)).rejects.toThrow(reason)
  })
})
