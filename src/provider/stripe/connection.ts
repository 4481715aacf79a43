// What every call to Stripe goes through: the client, and the time limit after which nobody waits for
// an answer any more.
import type Stripe from 'stripe'
import type { Declined, NotExecuted, Outcome, Unknown } from '../../domain/operations/outcome.ts'
import type { Payment } from '../../domain/payments/payment.ts'
import { classifyStripeError, unknown, type CallDescription } from './errors.ts'

export interface Connection {
  readonly stripe: Stripe
  /** For a call as a whole. */
  readonly timeoutMs: number
}

/** Nobody waits any longer. Whether the call was executed is not known. */
export class CallTimeoutError extends Error {
  override name = 'CallTimeoutError'

  constructor(timeoutMs: number) {
    super(`no answer in ${timeoutMs} ms`)
  }
}

/**
 * Waits for a call, but not for longer than the time limit: the package's own timeout is for silence
 * only, and an answer that drips in byte by byte is not silent.
 *
 * @throws CallTimeoutError, or what the call throws.
 */
export async function withinTimeLimit<Value>(
  { timeoutMs }: Connection,
  call: () => Promise<Value>,
): Promise<Value> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new CallTimeoutError(timeoutMs)), timeoutMs)
  })
  try {
    return await Promise.race([timeout, call()])
  } finally {
    clearTimeout(timer)
  }
}

/** Makes a call within the time limit, and turns what it throws into an outcome. */
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

/** The outcome behind what a call has thrown. */
export function describeFailure(
  error: unknown,
  asked: CallDescription,
): Declined | NotExecuted | Unknown {
  if (!(error instanceof CallTimeoutError)) return classifyStripeError(error, asked)
  return unknown(asked, { error: 'timeout' }, error.message)
}

/** The provider's name of a payment that has been there; that of another is a bug of the caller. */
export function providerPaymentIdOf({ id, providerPaymentId }: Payment): string {
  if (providerPaymentId === null) throw new Error(`payment ${id} is unknown to the provider`)
  return providerPaymentId
}
