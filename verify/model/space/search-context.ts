// The interned parts of the states of a space. A state refers to them by number.
import type { Database } from '../store/database.ts'
import type { Instance } from './instance.ts'
import type { Interner } from './interner.ts'
import type { Provider } from './provider.ts'
import type { Space } from './space.ts'
import type { Refusals } from './client-answers.ts'

export interface SearchContext {
  readonly space: Space
  readonly databases: Interner<Database>
  readonly providers: Interner<Provider>
  readonly instances: Interner<Instance>
  readonly refusalSets: Interner<Refusals>
}
