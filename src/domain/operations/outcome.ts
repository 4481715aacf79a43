// The outcome of a provider call. Every answer, error or timeout of a provider becomes one of four
// outcomes, and the engine acts on nothing else.
import type { Cancellation, Failure } from '../payments/payment.ts'

/** The request to the provider and its answer, kept for the timeline. Contains no secrets. */
interface Exchange {
  readonly asked: Readonly<Record<string, unknown>>
  readonly answered: Readonly<Record<string, unknown>>
}

/** It happened. */
export interface Done<Value> extends Exchange {
  readonly outcome: 'done'
  readonly value: Value
}

/** The provider refused permanently. This is a final outcome, too. */
export interface Declined extends Exchange {
  readonly outcome: 'declined'
  readonly failure: Failure
  readonly providerPaymentId: string | null
  /**
   * Of a refused capture or adjustment, when the provider has canceled the payment. Without it the
   * money may still be held.
   */
  readonly canceled?: Cancellation
}

/** It is proved that nothing happened. The same call may be made again. */
export interface NotExecuted extends Exchange {
  readonly outcome: 'not_executed'
  readonly reason: string
  /** The provider works, and refuses this object alone. */
  readonly aboutObject?: true
  /** Repeating it now is of no use: the provider asks to wait, or our circuit is open. */
  readonly retryLater?: true
}

/** It may have happened. Only a call with the same provider key, or a lookup, can find out. */
export interface Unknown extends Exchange {
  readonly outcome: 'unknown'
  readonly reason: string
  /**
   * Whether the provider failed and keeps that as the result of the provider key: then a repetition
   * gets it again, and the provider may still complete or undo the work at any time.
   */
  readonly storedFailure?: 'possible' | 'certain'
  /** As of `NotExecuted`. */
  readonly retryLater?: true
  /** Of a lookup: it was not made, because too many others waited or the account is not checked. */
  readonly notSent?: true
}

export type FinalOutcome<Value> = Done<Value> | Declined
export type OpenOutcome = NotExecuted | Unknown
export type Outcome<Value> = FinalOutcome<Value> | OpenOutcome

export function isFinalOutcome<Value>(outcome: Outcome<Value>): outcome is FinalOutcome<Value> {
  return outcome.outcome === 'done' || outcome.outcome === 'declined'
}
