// Every adapter, for the contract tests: that of the core, and those of extras.
import { ofExtras } from '../../support/of-extras.ts'
import { stripeFixture } from '../stripe/fixture.ts'
import type { ProviderFixture } from './fixture.ts'

const extras = await ofExtras<{ readonly fixture: ProviderFixture }>('fixture.ts')

export const fixtures: readonly ProviderFixture[] = [
  stripeFixture,
  ...extras.map(({ fixture }) => fixture),
]
