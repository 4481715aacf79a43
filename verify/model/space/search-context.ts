// The interned parts of the states of a space. A state refers to them by number.
import type { Database } from '../store/rows.ts'
import type { Instance } from './instance.ts'
import type { Interner } from './state.ts'
import type { Provider } from './provider.ts'
import type { Space } from './space.ts'

/**
 * By key: a request was refused and the key is unused, or its failed operation was superseded by
 * another one with its reference. Stored answers need not be tracked: each answer must equal the
 * stored one, and the stored one never changes.
 */
export type Refusals = Readonly<Record<number, 'refused' | 'superseded'>>

export const NO_REFUSALS: Refusals = {}

export interface SearchContext {
  readonly space: Space
  readonly databases: Interner<Database>
  readonly providers: Interner<Provider>
  readonly instances: Interner<Instance>
  readonly refusalSets: Interner<Refusals>
}
