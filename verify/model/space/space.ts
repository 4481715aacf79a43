// Defines a space: how many keys and concurrent programs are explored, and which faults may occur
// how often.
import type { Tries } from '../programs/settings.ts'

/** How often each fault may occur on a path, in total. */
export interface Budget {
  /** A program ends at once, at any step. */
  readonly crashes: number
  /**
   * A lease runs out while its owner is alive. The lease of a crashed owner runs out without using
   * this budget.
   */
  readonly expiries: number
  /** A connection is lost during a statement, which is executed or not. */
  readonly losses: number
  /**
   * A statement begins long before it is executed, and sees the snapshot of its beginning. As the first
   * of a transaction, it is a read long before the rest.
   */
  readonly early: number
}

export interface Space {
  readonly name: string
  readonly operation: 'payment.create' | 'refund.create'
  readonly keys: number
  readonly workers: number
  /** Maximum number of concurrent client requests. */
  readonly requests: number
  /** Maximum number of concurrent sweepers, reapers and outcome resolvers, in total. */
  readonly maintenance: number
  readonly budget: Budget
  readonly tries: Tries
  /** What the provider may do besides executing and answering calls. */
  readonly provider: {
    /** It declines. */
    readonly declines: boolean
    /** It refuses the connection, which proves that nothing was executed. */
    readonly refuses: boolean
    /** It executes a call after the caller gave up or crashed. */
    readonly delays: boolean
    /** It forgets idempotency keys. */
    readonly forgets: boolean
    /** A lookup gives no information. */
    readonly hides: boolean
    /**
     * It answers 500, and may keep that as the result of the key, at most twice for each operation.
     * It may complete the work of a kept 500 at any time. Not together with `forgets`.
     */
    readonly fails: boolean
    /** It keeps no idempotency keys: a call that reaches it again is executed again. */
    readonly keyless: boolean
  }
  /**
   * Whether each payment has a fallback at a second provider, which keeps no idempotency keys. Not
   * together with refunds or appliers.
   */
  readonly fallback: boolean
  /** When the outcome resolver checks, in seconds after the outcome became unknown. */
  readonly checks: readonly number[]
  /** Whether each statement of a transaction is its own transition. */
  readonly isStepwise: boolean
  /** Whether completed keys expire. */
  readonly expires: boolean
  /** How often a key may be reserved: once more than it is deleted. */
  readonly lives: number
  /** Whether clients cancel keys. */
  readonly cancels: boolean
  /**
   * Maximum number of concurrent workers for the events of cancellations. Without any, clients cancel
   * only operations that have executed nothing.
   */
  readonly appliers: number
  /** Whether a client refunds a part of the payment, with a key that follows the others. */
  readonly refundsPart: boolean
  /** Whether clients send a different request under a used key. */
  readonly misuses: boolean
  /** Whether a client's retry may spell a default out. */
  readonly respells: boolean
  /** Whether the requests of all keys have the same reference. */
  readonly oneReference: boolean
  /**
   * How many jobs a worker process takes, and how many requests reach an API process, at the same
   * time. Two share transactions. Each may also be alone.
   */
  readonly members: 1 | 2
  /** Whether two requests that arrive at the same time may have the same key. */
  readonly repeats: boolean
  /** Keys whose requests the store refuses: they name a customer that the tenant does not own. */
  readonly refusedKeys: readonly number[]
}

/** Amount of each payment, also of the payment whose refunds are explored. */
export const AMOUNT_MINOR = 1_000
/** Two refunds are the whole captured amount. */
export const REFUND_MINOR = 500

/** What a space changes of one key, two workers, no faults and a provider that answers every call. */
export type SpaceChanges = Partial<Omit<Space, 'name' | 'budget' | 'provider'>> & {
  readonly budget?: Partial<Budget>
  /** What it may do. */
  readonly provider?: readonly (keyof Space['provider'])[]
}

export function spaceOf(name: string, { budget, provider = [], ...changes }: SpaceChanges): Space {
  const may = Object.fromEntries(provider.map((fault) => [fault, true]))
  const unknown = Object.keys({ ...changes, ...may, ...budget }).find((member) => !isMember(member))
  if (unknown !== undefined) throw new Error(`a space has no ${unknown}`)
  return {
    ...ONE_KEY,
    ...changes,
    name,
    budget: { ...NO_FAULTS, ...budget },
    provider: { ...RELIABLE_PROVIDER, ...may },
  }
}

export const NO_FAULTS = { crashes: 0, expiries: 0, losses: 0, early: 0 }

/** It executes and answers every call. */
export const RELIABLE_PROVIDER = {
  declines: false,
  refuses: false,
  delays: false,
  forgets: false,
  hides: false,
  fails: false,
  keyless: false,
}

const ONE_KEY = {
  operation: 'payment.create',
  keys: 1,
  workers: 2,
  requests: 1,
  maintenance: 1,
  tries: { calls: 1, retries: 1 },
  fallback: false,
  checks: [60],
  isStepwise: false,
  expires: false,
  lives: 1,
  cancels: false,
  appliers: 0,
  refundsPart: false,
  misuses: false,
  respells: false,
  oneReference: false,
  members: 1,
  repeats: false,
  refusedKeys: [],
} as const

const isMember = (member: string): boolean =>
  [ONE_KEY, NO_FAULTS, RELIABLE_PROVIDER].some((part) => Object.hasOwn(part, member))
