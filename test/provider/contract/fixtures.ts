// Every adapter, for the contract tests.
import { braintreeFixture } from '../braintree/fixture.ts'
import { stripeFixture } from '../stripe/fixture.ts'
import type { ProviderFixture } from './fixture.ts'

export const fixtures: readonly ProviderFixture[] = [stripeFixture, braintreeFixture]
