// The connection that every call to Stripe uses: the client, and the time limit for an answer.
import type Stripe from 'stripe'
import type { Declined, NotExecuted, Outcome, Unknown } from '../../domain/operations/outcome.ts'
import type { Payment } from '../../domain/payments/payment.ts'
import { classifyStripeError, unknown, type CallDescription } from './errors.ts'
import { before } from './http/deadline.ts'

export interface Connection {
  readonly stripe: Stripe
  /** Limits a call as a whole. */
  readonly timeoutMs: number
  /** By `performance.now()`, when nothing may be sent any more, if that is sooner. */
  readonly sendBeforeMs?: number
}

/** The time limit has passed. It is not known whether the call was executed. */
export class CallTimeoutError extends Error {
  override name = 'CallTimeoutError'

  constructor(timeoutMs: number) {
    super(`no answer in ${timeoutMs} ms`)
  }
}

/**
 * Waits for a call up to the time limit, and sends nothing afterwards. The package's own timeout only
 * limits silence, and an answer that arrives byte by byte is never silent.
 *
 * @throws CallTimeoutError, or what the call throws.
 */
export async function withinTimeLimit<Value>(
  { timeoutMs, sendBeforeMs = Number.POSITIVE_INFINITY }: Connection,
  call: () => Promise<Value>,
): Promise<Value> {
  const deadlineMs = Math.min(performance.now() + timeoutMs, sendBeforeMs)
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new CallTimeoutError(timeoutMs)), timeoutMs)
  })
  try {
    return await Promise.race([timeout, before(deadlineMs, call)])
  } finally {
    clearTimeout(timer)
  }
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
  return unknown(asked, { error: 'timeout' }, error.message)
}

/** The provider's id of a payment. A payment without one is a bug of the caller. */
export function providerPaymentIdOf({ id, providerPaymentId }: Payment): string {
  if (providerPaymentId === null) throw new Error(`payment ${id} is unknown to the provider`)
  return providerPaymentId
}
