// Defines a scenario: what a client requests, on which payment, and what is checked for it alone.
import type { Injection } from './case.ts'
import type { Merchant } from './merchant.ts'
import type { Violation } from './results.ts'

export interface Scenario {
  readonly name: string
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
