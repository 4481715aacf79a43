// Classifies every error of a call to Stripe as an outcome. Only a call that provably did not run
// is `not_executed`; in doubt the outcome is `unknown`.
import Stripe from 'stripe'
import type { Declined, NotExecuted, Unknown } from '../../domain/operations/outcome.ts'
import { unknown, type CallDescription } from '../call-outcomes.ts'
import { failureCode, neverSent } from '../deadline.ts'
import { fitText, fitTextOrNothing, isObjectId } from '../provider-text.ts'
import { TooManyReadsError, asksToWait, isAboutObject, readRateLimit } from './http/pace.ts'

type StripeError = InstanceType<typeof Stripe.errors.StripeError>
type AnswerDescription = Readonly<Record<string, unknown>>

export const UNEXPECTED_STATE = 'payment_intent_unexpected_state'

/** The parameters whose ids clients choose. Stripe itself gave out all other ids that we send. */
const OF_CLIENTS = new Set(['payment_method', 'customer'])

/**
 * The outcome of a call that failed with this error of the stripe package.
 *
 * | error | outcome |
 * |---|---|
 * | 402 | `declined`: the card's issuer or Stripe refused |
 * | 400 | `declined`: Stripe refuses this request, and always will |
 * | 400, 404 `resource_missing` of an id that the client chose | `declined` |
 * | 400, 404 `resource_missing` of any other id | `not_executed`: the secret key sees another account, or a test account was reset. It waits, and does not open the circuit |
 * | 400 `payment_intent_unexpected_state` | `unknown`, unless the intent in the error proves more |
 * | 400 `idempotency_error` | `unknown`: the key was used before, with an unknown effect |
 * | 401, 403, 429, any other 404, 400 `rate_limit` | `not_executed`: refused before execution |
 * | 409 | `unknown`: an earlier call with this key is still running |
 * | 500 | `unknown`, and possibly kept under the key; certainly if it is a replay |
 * | other 5xx, no JSON, not in the shape of Stripe's errors, anything else | `unknown` |
 * | failure before there was a connection (with TLS: a secure one), or a deadline before it was sent | `not_executed` |
 * | timeout, connection lost | `unknown` |
 *
 * `Stripe-Should-Retry` and `Retry-After` change no outcome: they only say whether to call again at
 * once. An `idempotency_error` is not repeated at once either, nor a read that found no turn.
 *
 * @see https://docs.stripe.com/api/errors
 * @see https://docs.stripe.com/error-low-level
 * @see https://docs.stripe.com/api/idempotent_requests
 */
export function classifyStripeError(
  error: unknown,
  asked: CallDescription,
): Declined | NotExecuted | Unknown {
  const outcome = classify(error, asked)
  return mustWait(error) && outcome.outcome !== 'declined'
    ? { ...outcome, retryLater: true }
    : outcome
}

/** Whether the same request is of no use at once. */
function mustWait(error: unknown): boolean {
  const { StripeError, StripeIdempotencyError } = Stripe.errors
  if (!(error instanceof StripeError)) return false
  // The parameters differ from those of the first call, perhaps of another version of the service.
  if (error instanceof StripeIdempotencyError) return true
  return !wasSent(error) || asksToWait(error.headers)
}

/** False for a read that found no turn. */
export function wasSent(error: unknown): boolean {
  const { StripeError } = Stripe.errors
  return !(error instanceof StripeError && error.detail instanceof TooManyReadsError)
}

function classify(error: unknown, asked: CallDescription): Declined | NotExecuted | Unknown {
  const { StripeError, StripeConnectionError, StripeCardError } = Stripe.errors
  const { StripeIdempotencyError, StripeRateLimitError } = Stripe.errors
  if (!(error instanceof StripeError)) {
    return unknown(asked, { error: 'unreadable answer' }, reasonOf(error))
  }
  if (error instanceof StripeConnectionError) return classifyConnectionError(error, asked)
  const answered = describeStripeError(error)
  if (!isStripesOwn(error) || error instanceof StripeIdempotencyError) {
    return unknown(asked, answered, error.message || 'not an answer of Stripe')
  }
  if (error instanceof StripeCardError) return declined(error, asked, answered)
  if (error instanceof StripeRateLimitError) {
    const refused = notExecuted(error, asked, answered)
    const limit = readRateLimit(error.headers ?? {}, error.code)
    return isAboutObject(limit) ? { ...refused, aboutObject: true } : refused
  }
  if (isMissing(error)) {
    if (OF_CLIENTS.has(error.param ?? '')) return declined(error, asked, answered)
    return { ...notExecuted(error, asked, answered), aboutObject: true, retryLater: true }
  }
  switch (error.statusCode) {
    case 400:
      // An earlier try of this very call may have brought the object into this state.
      return error.code === UNEXPECTED_STATE
        ? unknown(asked, answered, error.message)
        : declined(error, asked, answered)
    // The URL does not exist.
    case 404:
    case 401:
    case 403:
      return notExecuted(error, asked, answered)
    case 500:
      return {
        ...unknown(asked, answered, error.message),
        storedFailure: isReplay(error) ? 'certain' : 'possible',
      }
    default:
      return unknown(asked, answered, error.message)
  }
}

/** Whether Stripe says that it has no object with this id. */
export function isMissing(error: unknown): boolean {
  return (
    error instanceof Stripe.errors.StripeInvalidRequestError && error.code === 'resource_missing'
  )
}

/**
 * Whether Stripe itself answered. A proxy has errors of a different shape, and may have forwarded
 * the request before it failed.
 */
export function isStripesOwn({ rawType }: StripeError): boolean {
  return rawType?.endsWith('_error') ?? false
}

/** Whether this is the kept answer of an earlier request with the same key. */
function isReplay({ headers }: StripeError): boolean {
  return headers?.['idempotent-replayed'] === 'true'
}

function classifyConnectionError(
  error: StripeError,
  asked: CallDescription,
): NotExecuted | Unknown {
  const answered = { error: failureCode(error.detail) ?? 'connection lost' }
  if (neverSent(error.detail)) return notExecuted(error, asked, answered)
  return unknown(asked, answered, error.message)
}

/** A short description of Stripe's answer, sufficient to find the call in Stripe's dashboard. */
export function describeStripeError(error: StripeError): AnswerDescription {
  return {
    status: error.statusCode,
    request_id: fitTextOrNothing(error.requestId),
    code: fitTextOrNothing(error.code),
    decline_code: fitTextOrNothing(error.decline_code),
    rate_limited_reason: fitTextOrNothing(error.headers?.['stripe-rate-limited-reason']),
    message: fitText(error.message),
    payment_id: fitTextOrNothing(error.payment_intent?.id),
  }
}

export function declined(
  error: StripeError,
  asked: CallDescription,
  answered: AnswerDescription,
): Declined {
  const id: unknown = error.payment_intent?.id
  return {
    outcome: 'declined',
    failure: {
      code: fitTextOrNothing(error.code) ?? fitTextOrNothing(error.rawType) ?? 'declined',
      declineCode: fitTextOrNothing(error.decline_code) ?? null,
      message: fitText(error.message),
    },
    providerPaymentId: isObjectId(id) ? id : null,
    asked,
    answered,
  }
}

function notExecuted(
  error: StripeError,
  asked: CallDescription,
  answered: AnswerDescription,
): NotExecuted {
  return { outcome: 'not_executed', reason: fitText(error.message), asked, answered }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : 'a thrown value that is not an error'
}
