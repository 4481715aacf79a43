// A Stripe stand-in of the test file's own: started before its tests, and closed after them. Call a
// function where its result is declared; the result has its members from the first test on.
import { afterAll, beforeAll, beforeEach } from '@jest/globals'
import { startProvider, type RunningProvider } from '../dev/stripe-stand-in/running-provider.ts'

type Options = Parameters<typeof startProvider>[0]

/** It keeps its objects from test to test. */
export function providerOfFile(options?: Options): RunningProvider {
  const provider = {} as RunningProvider
  beforeAll(async () => void Object.assign(provider, await startProvider(options)))
  afterAll(() => provider.close())
  return provider
}

/** It is as new for each test. */
export function ownProvider(options?: Options): RunningProvider {
  const provider = providerOfFile(options)
  beforeEach(() => provider.control('POST', '/reset'))
  return provider
}
