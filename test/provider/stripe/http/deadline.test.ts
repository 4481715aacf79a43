// Tests that the adapter sends nothing after the lease of its caller, or after its time limit: a
// worker that was frozen must not charge once its successor looks up what it did.
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { createStripeProvider } from '../../../../src/provider/stripe/stripe-provider.ts'
import {
  startProvider,
  type RunningProvider,
} from '../../../dev/stripe-stand-in/running-provider.ts'
import { authorized, identityOf, paymentOf, SECRET_KEY } from '../adapter-calls.ts'

let provider: RunningProvider

beforeAll(async () => {
  provider = await startProvider()
})

beforeEach(() => provider.control('POST', '/reset'))

afterAll(() => provider.close())

/** Blocks the process, as if it were frozen. */
function freeze(ms: number): void {
  const endsAt = performance.now() + ms
  while (performance.now() < endsAt);
}

const adapterWith = (options: Partial<Parameters<typeof createStripeProvider>[0]> = {}) =>
  createStripeProvider({
    secretKey: SECRET_KEY,
    apiBase: provider.url,
    timeoutMs: 10_000,
    ...options,
  })

const leaseOf = (ms: number) => ({
  ...identityOf('started'),
  sendBeforeMs: performance.now() + ms,
})

test('sends nothing if the lease ends while the connection is made', async () => {
  const adapter = adapterWith()
  const call = adapter.calls.authorize.execute({ payment: paymentOf() }, leaseOf(200))
  setImmediate(freeze, 300)

  expect(await call).toMatchObject({ outcome: 'unknown' })
  expect(await provider.executed()).toEqual([])
})

test('sends nothing on a connection that is kept alive', async () => {
  const adapter = adapterWith()
  await authorized(adapter)

  const call = adapter.calls.authorize.execute({ payment: paymentOf() }, leaseOf(0))

  expect(await call).toMatchObject({ outcome: 'unknown' })
  expect(await provider.executed()).toHaveLength(1)
})

test('sends nothing after the time limit', async () => {
  const connected = Promise.withResolvers<void>()
  const url = new URL(provider.url)
  url.hostname = 'localhost'
  const adapter = adapterWith({
    apiBase: url.href,
    timeoutMs: 100,
    async resolve() {
      await connected.promise
      return [{ address: '127.0.0.1', family: 4 }]
    },
  })

  const outcome = await adapter.calls.authorize.execute({ payment: paymentOf() }, leaseOf(10_000))
  connected.resolve()
  await new Promise((resolve) => setTimeout(resolve, 200))

  expect(outcome).toMatchObject({ outcome: 'unknown', answered: { error: 'timeout' } })
  expect(await provider.executed()).toEqual([])
})

test('sends a call that is in time', async () => {
  const adapter = adapterWith()

  const call = adapter.calls.authorize.execute({ payment: paymentOf() }, leaseOf(10_000))

  expect(await call).toMatchObject({ outcome: 'done' })
})
