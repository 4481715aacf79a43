// Defines a mutant of the model: what it changes, and the smallest space that shows it.
import type { Patch } from '../../faults/mutants/mutants.ts'
import { spaceOf, type Space, type SpaceChanges } from '../space/space.ts'

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

/** What a space changes of the plain one, and the expected violation. */
export type SpaceForMutant = SpaceChanges & Readonly<{ foundBy: string }>

/** One key, one worker, and a provider that executes and answers every call. */
export const plain = (name: string, ...changes: readonly SpaceChanges[]): Space =>
  spaceOf(name, Object.assign({ workers: 1 }, ...changes) as SpaceChanges)
