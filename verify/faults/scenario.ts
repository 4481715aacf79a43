// Defines a scenario: what a client requests, on which payment, and what is checked for it alone.
import type { Injection } from './case.ts'
import type { LaneOptions } from './lane-options.ts'
import type { Merchant } from './merchant.ts'
import type { Violation } from './results.ts'

/** What the lane of a scenario must have. */
export type LaneNeeds = Pick<
  LaneOptions,
  'settings' | 'byName' | 'standbys' | 'pooled' | 'replicated' | 'redis' | 'secondProvider'
>

export interface Scenario {
  readonly name: string
  /** By default it makes do with any lane. */
  readonly needs?: LaneNeeds
  /** Creates what the operation works on and returns its id. */
  readonly prepare?: (merchant: Merchant) => Promise<string>
  /** Makes the requests. Scenarios with points of their own read from the injections what to do. */
  readonly act: (
    merchant: Merchant,
    id: string,
    injections: readonly Injection[],
  ) => Promise<unknown>
  /** Checks that only this scenario needs, beside the invariants. */
  readonly check?: (merchant: Merchant) => Promise<Violation[]>
}
