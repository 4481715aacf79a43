// Classifies every error of the braintree package as an outcome. Only a call that provably did not run
// is `not_executed`; in doubt the outcome is `unknown`.
import type { NotExecuted, Unknown } from '../../src/domain/operations/outcome.ts'
import { timedOut, unknown, type CallDescription } from '../../src/provider/call-outcomes.ts'
import { isJson, fitText } from '../../src/provider/provider-text.ts'
import { failureCode, neverSent, CallTimeoutError } from '../../src/provider/deadline.ts'
import type { Exchange } from './http/watched-agent.ts'

/** The errors with which Braintree refuses a request before it processes it. */
const REFUSED_UNPROCESSED: ReadonlySet<unknown> = new Set([
  'authenticationError',
  'authorizationError',
  'tooManyRequestsError',
  'upgradeRequired',
])

/**
 * The outcome of a call that failed with this error of the package.
 *
 * | error | outcome |
 * |---|---|
 * | `authenticationError` 401, `authorizationError` 403, `upgradeRequired` 426 | `not_executed`: refused before processing |
 * | `tooManyRequestsError` 429 | `not_executed`, and to be repeated later |
 * | `notFoundError` 404 | `not_executed`: the keys see another merchant. It waits, and does not open the circuit |
 * | `requestTimeoutError` 408, `serverError` 500, `serviceUnavailableError` 503, `gatewayTimeoutError` 504 | `unknown` |
 * | `unexpectedError` or timeout before there was a connection (with TLS: a secure one), or a deadline before it was sent | `not_executed` |
 * | any other `unexpectedError`: another status, a reset, a timeout | `unknown` |
 * | an answer that the package cannot read | `unknown` |
 *
 * The package drops the body of an error, so a proxy's 401, 403, 404 or 429 cannot be told apart from
 * Braintree's. A proxy that has forwarded a request does not answer it with one of these.
 *
 * @see https://developer.paypal.com/braintree/docs/reference/general/exceptions/node
 */
export function classifyBraintreeError(
  error: unknown,
  exchange: Exchange,
  asked: CallDescription,
): NotExecuted | Unknown {
  if (error instanceof CallTimeoutError) return timedOut(error, asked)
  const type = typeOf(error)
  const failure = exchange.failure ?? error
  const code = failureCode(failure) ?? type ?? 'unreadable answer'
  const answered = { status: exchange.status, error: code }
  const reason = error instanceof Error ? error.message : 'a thrown value that is not an error'
  const refused = { outcome: 'not_executed', reason: fitText(reason), asked, answered } as const
  if (type === 'tooManyRequestsError') return { ...refused, retryLater: true }
  if (type === 'notFoundError') return { ...refused, aboutObject: true, retryLater: true }
  if (REFUSED_UNPROCESSED.has(type) || neverSent(failure)) return refused
  return unknown(asked, answered, reason)
}

/** Whether Braintree says that it has no object with this id. */
export function isMissing(error: unknown): boolean {
  return typeOf(error) === 'notFoundError'
}

const PASSING: ReadonlySet<unknown> = new Set([
  'gatewayTimeoutError',
  'requestTimeoutError',
  'serverError',
  'serviceUnavailableError',
  'tooManyRequestsError',
  'unexpectedError',
])

/** Whether the same read may succeed a moment later. */
export function isPassing(error: unknown): boolean {
  return error instanceof CallTimeoutError || PASSING.has(typeOf(error))
}

/** The package names the kind of its errors, which have no class. */
export function typeOf(error: unknown): string | undefined {
  const type = error instanceof Error && isJson(error) ? error['type'] : undefined
  return typeof type === 'string' ? type : undefined
}
