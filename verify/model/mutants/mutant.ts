// Defines a mutant of the model: what it changes, and the smallest space that shows it.
import type { Patch } from '../../faults/mutants/mutant.ts'
import type { Budget, Space } from '../space/space.ts'

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

export const NO_FAULTS: Budget = { crashes: 0, expiries: 0, losses: 0, early: 0 }

/** One key, one worker, and a provider that executes and answers every call. */
export const PLAIN: Space = {
  name: 'plain',
  operation: 'payment.create',
  keys: 1,
  workers: 1,
  requests: 1,
  maintenance: 1,
  budget: NO_FAULTS,
  tries: { calls: 1, retries: 1 },
  provider: {
    declines: false,
    refuses: false,
    delays: false,
    forgets: false,
    hides: false,
    fails: false,
  },
  checks: [60],
  isStepwise: false,
  expires: false,
  lives: 1,
  misuses: false,
  members: 1,
  repeats: false,
  refusedKeys: [],
}

export const providerThatMay = (
  ...faults: readonly (keyof Space['provider'])[]
): Space['provider'] => ({
  ...PLAIN.provider,
  ...Object.fromEntries(faults.map((fault) => [fault, true])),
})
