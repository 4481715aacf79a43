// A Stripe stand-in of the test file's own, as new for each test. Import it to use it.
import { afterAll, beforeAll, beforeEach } from '@jest/globals'
import { startProvider, type RunningProvider } from '../dev/stripe-stand-in/running-provider.ts'

export let provider: RunningProvider

beforeAll(async () => {
  provider = await startProvider()
})
beforeEach(async () => {
  await provider.control('POST', '/reset')
})
afterAll(() => provider.close())
