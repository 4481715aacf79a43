// Outcomes that every adapter reports in the same way.
import type { Done, NotExecuted, Outcome, Unknown } from '../domain/operations/outcome.ts'
import type { Payment } from '../domain/payments/payment.ts'
import { fitText } from './provider-text.ts'
import type { CallTimeoutError } from './deadline.ts'

/** Describes a call for the timeline. Contains no secrets. */
export type CallDescription = Readonly<Record<string, unknown>>

export function unknown(
  asked: CallDescription,
  answered: CallDescription,
  reason: string,
): Unknown {
  return { outcome: 'unknown', reason: fitText(reason), asked, answered }
}

/** A call of which a complete look has found that it had no effect. */
export function notExecuted(
  reason: string,
  asked: CallDescription,
  answered: CallDescription,
): NotExecuted {
  return { outcome: 'not_executed', reason, asked, answered }
}

/** A call that did not end in time. */
export function timedOut(error: CallTimeoutError, asked: CallDescription): NotExecuted | Unknown {
  const answered = { error: 'timeout' }
  if (!error.neverSent) return unknown(asked, answered, error.message)
  return notExecuted(error.message, asked, answered)
}

/** A call that was not made. */
export function notCalled(call: string, reason: string): NotExecuted {
  return { outcome: 'not_executed', reason, asked: { call }, answered: { error: reason } }
}

/** A look-up that was not made: nothing is concluded. */
export function notLookedUp(call: string, reason: string): Unknown {
  const answered = { error: reason, looked: false }
  return { outcome: 'unknown', reason, asked: { call }, answered, notSent: true }
}

/** Turns any failed look into `not_executed`, because a look executes nothing. */
export function asRead<Value>(outcome: Outcome<Value>): Done<Value> | NotExecuted {
  if (outcome.outcome === 'done' || outcome.outcome === 'not_executed') return outcome
  const { asked, answered } = outcome
  const reason = outcome.outcome === 'unknown' ? outcome.reason : outcome.failure.message
  const waits = outcome.outcome === 'unknown' && outcome.asksToWait === true
  return { outcome: 'not_executed', reason, asked, answered, ...(waits && { asksToWait: true }) }
}

/** The provider's id of a payment. A payment without one is a bug of the caller. */
export function providerPaymentIdOf({ id, providerPaymentId }: Payment): string {
  if (providerPaymentId === null) throw new Error(`payment ${id} is unknown to the provider`)
  return providerPaymentId
}
