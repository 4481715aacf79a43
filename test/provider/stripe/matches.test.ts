// Tests that a look-up that meets a fault proves nothing, also a fault that only Stripe has. What every
// adapter has in common is in test/provider/contract.
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { faultNames } from '../../../dev/stripe-stand-in/faults/faults.ts'
import type { PaymentProvider } from '../../../src/provider/payment-provider.ts'
import { startProvider, type RunningProvider } from '../../dev/stripe-stand-in/running-provider.ts'
import { adapterFor, callNames, calls, identityOf, traceOf } from './adapter-calls.ts'

const nowMs = 1_800_000_000_000

let provider: RunningProvider
let adapter: PaymentProvider

beforeAll(async () => {
  provider = await startProvider({ systemNow: () => nowMs })
  adapter = adapterFor(provider.url)
})
beforeEach(async () => {
  await provider.control('POST', '/reset')
})
afterAll(async () => provider.close())

/**
 * Without faults that answer in the end, affect other tests, or change an amount, which lists do
 * not have.
 */
const failing = faultNames.filter(
  (name) => !['delay', 'refuse', 'slow_drip', 'wrong_amount'].includes(name),
)
const failures = callNames.flatMap((name) => failing.map((fault) => ({ name, fault })))

test.each(failures)(
  '$name: a look-up that meets $fault proves nothing',
  async ({ name, fault }) => {
    const payment = await calls[name].ready(adapter)
    await provider.addFault({ match: { method: 'GET' }, fault })

    const found = await calls[name].find(
      adapterFor(provider.url, 300),
      payment,
      traceOf(identityOf(name), nowMs),
    )

    expect(found.outcome).toBe('unknown')
  },
)
