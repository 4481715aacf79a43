// Tests which providers the settings give a process.
import { expect, test } from '@jest/globals'
import { ConfigError } from '../src/config-formats.ts'
import { wiredProviders } from './support/wired-providers.ts'

const STRIPE = { STRIPE_SECRET_KEY: 'sk_test_1', STRIPE_WEBHOOK_SECRET: 'whsec_1' }

const wired = wiredProviders()

test('the keys of Stripe give its adapter', async () => {
  expect(await wired.names(STRIPE)).toEqual(['stripe'])
})

test('events are read of the providers whose secrets are set', async () => {
  expect(await wired.readers(STRIPE)).toEqual(['stripe'])
  expect(await wired.readers({})).toEqual([])
})

test('a process does not start without a key of the provider', async () => {
  await expect(wired.names({})).rejects.toThrow(ConfigError)
  await expect(wired.names({})).rejects.toThrow(/STRIPE_SECRET_KEY is not set/)
})
