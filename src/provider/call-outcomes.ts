// Outcomes that every adapter reports in the same way.
import type { Declined, Done, NotExecuted, Outcome, Unknown } from '../domain/operations/outcome.ts'
import type { Failure, Payment } from '../domain/payments/payment.ts'
import type { ProviderStatus } from '../domain/payments/provider-status.ts'
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

/** `done` with what the answer confirms. If it confirms nothing, the outcome is unknown. */
export function confirmed<Value>(
  value: Value | undefined,
  asked: CallDescription,
  answered: CallDescription,
  mismatch: string,
): Done<Value> | Unknown {
  return value === undefined
    ? unknown(asked, answered, mismatch)
    : { outcome: 'done', value, asked, answered }
}

/**
 * A call on held money of which a look at the payment does not show that it was executed: it was not if
 * the money is still `held`, it is refused if the payment is `canceled`, and `other` says what else.
 */
export function explainNotShown(
  { providerPaymentId }: Payment,
  providerStatus: ProviderStatus | undefined,
  asked: CallDescription,
  answered: CallDescription,
  { held, canceled, other }: { held: string; canceled: Failure; other: string },
): Declined | NotExecuted | Unknown {
  if (providerStatus?.status === 'held') return notExecuted(held, asked, answered)
  if (providerStatus?.status !== 'canceled') return unknown(asked, answered, other)
  const refused = { outcome: 'declined', failure: canceled, providerPaymentId } as const
  return { ...refused, canceled: { reason: providerStatus.reason }, asked, answered }
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

/** A lookup that was not made: nothing is concluded. */
export function notLookedUp(call: string, reason: string): Unknown {
  const answered = { error: reason, looked: false }
  return { outcome: 'unknown', reason, asked: { call }, answered, notSent: true }
}

/** Turns any failed look into `not_executed`, because a look executes nothing. */
export function asRead<Value>(outcome: Outcome<Value>): Done<Value> | NotExecuted {
  if (outcome.outcome === 'done' || outcome.outcome === 'not_executed') return outcome
  const { asked, answered } = outcome
  const reason = outcome.outcome === 'unknown' ? outcome.reason : outcome.failure.message
  const waits = outcome.outcome === 'unknown' && outcome.retryLater === true
  return { outcome: 'not_executed', reason, asked, answered, ...(waits && { retryLater: true }) }
}

/** The provider's id of a payment. A payment without one is a bug of the caller. */
export function providerPaymentIdOf({ id, providerPaymentId }: Payment): string {
  if (providerPaymentId === null) throw new Error(`payment ${id} is unknown to the provider`)
  return providerPaymentId
}
