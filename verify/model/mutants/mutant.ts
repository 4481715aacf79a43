// Defines a mutant of the model: what it changes, and the smallest space that shows it.
import type { Patch } from '../../faults/mutants/mutant.ts'
import type { Budget, Space } from '../space/space.ts'
import { NO_FAULTS, ONE_KEY, RELIABLE_PROVIDER } from '../space/spaces.ts'

export interface ModelMutant {
  readonly name: string
  readonly breaks: string
  readonly patches: readonly Patch[]
  /** SQL statements that remove the database's own constraints. */
  readonly schema: readonly string[]
  readonly space: Space
  /** Prefix of the expected violation: the number of an invariant in ARCHITECTURE.md. */
  readonly foundBy: string
}

/** What a space changes of `PLAIN`, and the expected violation. */
export type SpaceForMutant = Readonly<{ foundBy: string }> &
  Partial<Omit<Space, 'name' | 'budget'>> & {
    readonly budget?: Partial<Budget>
  }

/** One key, one worker, and a provider that executes and answers every call. */
export const PLAIN: Space = {
  ...ONE_KEY,
  name: 'plain',
  workers: 1,
  budget: NO_FAULTS,
  provider: RELIABLE_PROVIDER,
}

export const providerThatMay = (
  ...faults: readonly (keyof Space['provider'])[]
): Space['provider'] => ({
  ...PLAIN.provider,
  ...Object.fromEntries(faults.map((fault) => [fault, true])),
})
