// What a foreign call tells. Every answer, error and silence of a provider is one of four outcomes,
// and the engine acts on nothing else.
import type { Failure } from '../payments/payment.ts'

/** What was asked of the provider and what came back, kept for the timeline. Holds no secrets. */
export interface Exchange {
  readonly asked: Readonly<Record<string, unknown>>
  readonly answered: Readonly<Record<string, unknown>>
}

/** It happened. */
export interface Done<Value> extends Exchange {
  readonly outcome: 'done'
  readonly value: Value
}

/** The provider said no, finally: a result like any other. */
export interface Declined extends Exchange {
  readonly outcome: 'declined'
  readonly failure: Failure
  readonly providerPaymentId: string | null
}

/** Proved: nothing happened, and the same call may be made again. */
export interface NotExecuted extends Exchange {
  readonly outcome: 'not_executed'
  readonly reason: string
}

/** It may have happened. Only the same provider key, or a look-up, can tell. */
export interface Unknown extends Exchange {
  readonly outcome: 'unknown'
  readonly reason: string
}

export type FinalOutcome<Value> = Done<Value> | Declined
export type OpenOutcome = NotExecuted | Unknown
export type Outcome<Value> = FinalOutcome<Value> | OpenOutcome

export function isFinalOutcome<Value>(outcome: Outcome<Value>): outcome is FinalOutcome<Value> {
  return outcome.outcome === 'done' || outcome.outcome === 'declined'
}
