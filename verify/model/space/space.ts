// What is explored: how many keys, how many programs at a time, and what may go wrong how often.
import type { Tries } from '../programs/settings.ts'

/** How often a path may have what, in all. */
export interface Budget {
  /** A program ends at once, wherever it stands. */
  readonly crashes: number
  /** A lease runs out under an owner that lives. Under one that is gone each does, sooner or later. */
  readonly expiries: number
  /** A connection is lost under a statement, which has been executed or has not. */
  readonly losses: number
  /** A statement begins long before it is executed, and sees what was committed then. */
  readonly early: number
}

export interface Space {
  readonly name: string
  readonly operation: 'payment.create' | 'refund.create'
  readonly keys: number
  readonly workers: number
  /** Requests of clients that are served at a time. */
  readonly requests: number
  /** Sweepers, reapers and reconcilers at a time. */
  readonly maintenance: number
  readonly budget: Budget
  readonly tries: Tries
  /** What the provider may do beside executing a call and answering it. */
  readonly provider: {
    /** It says no. */
    readonly declines: boolean
    /** It is proved to have executed nothing: its refusal to connect. */
    readonly refuses: boolean
    /** A call is executed after its caller has given it up, or died. */
    readonly delays: boolean
    /** It forgets the keys of calls. */
    readonly forgets: boolean
    /** A look tells nothing. */
    readonly hides: boolean
  }
  /** When the reconciler looks, in seconds after an outcome became unknown. */
  readonly checks: readonly number[]
  /** Whether every statement of a transaction is a move of its own. */
  readonly isStepwise: boolean
  /** Whether completed keys expire. */
  readonly expires: boolean
  /** How often a key may be reserved: once more than it is reaped. */
  readonly lives: number
  /** Whether somebody sends another request under the same key. */
  readonly misuses: boolean
}

/** Of the payment of each key, or of the payment whose refunds a space is about. */
export const AMOUNT_MINOR = 1_000
/** Two of these are all that was captured. */
export const REFUND_MINOR = 500
