// The connection that every call to Stripe uses: the client, and the time limit for an answer.
import type Stripe from 'stripe'
import type { Declined, NotExecuted, Outcome, Unknown } from '../../domain/operations/outcome.ts'
import { timedOut, type CallDescription } from '../call-outcomes.ts'
import { CallTimeoutError, withinTimeLimit, type TimeLimits } from '../deadline.ts'
import { classifyStripeError } from './errors.ts'
import type { ReadSharedList } from './lists/shared-lists.ts'

export interface Connection extends TimeLimits {
  readonly stripe: Stripe
  /** Where a customer comes back who had to leave to authenticate, unless the payment says it. */
  readonly returnUrl: string
  /** Lists intents for several lookups at once. */
  readonly readIntents: ReadSharedList
}

/** Makes a call within the time limit, and turns errors into outcomes. */
export async function toOutcome<Value>(
  connection: Connection,
  asked: CallDescription,
  call: () => Promise<Outcome<Value>>,
): Promise<Outcome<Value>> {
  try {
    return await withinTimeLimit(connection, call)
  } catch (error) {
    return describeFailure(error, asked)
  }
}

/** The outcome of a call that threw this error. */
export function describeFailure(
  error: unknown,
  asked: CallDescription,
): Declined | NotExecuted | Unknown {
  if (!(error instanceof CallTimeoutError)) return classifyStripeError(error, asked)
  return timedOut(error, asked)
}
