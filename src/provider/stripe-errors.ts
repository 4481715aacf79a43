// Sorts everything that can go wrong on the way to Stripe and back into outcomes. Only what is proved
// not to have run is `not_executed`; when in doubt, `unknown`.
import Stripe from 'stripe'
import type { Declined, NotExecuted, Unknown } from '../domain/outcome.ts'

type Answered = Readonly<Record<string, unknown>>
type Asked = Readonly<Record<string, unknown>>

/** The connection was never made, so that no byte of the request was sent. */
const NEVER_CONNECTED = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'CERT_HAS_EXPIRED',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
])

/**
 * The outcome behind an error of the stripe package.
 *
 * | error | outcome |
 * |---|---|
 * | 402 | `declined`: the card's issuer or Stripe said no |
 * | 400, 404 | `declined`: Stripe refused the request as it stands, and always will |
 * | 400 `idempotency_error` | `unknown`: the key has been used, with what effect cannot be told |
 * | 401, 403, 429 | `not_executed`: refused at the door |
 * | 409 | `unknown`: an earlier call with this key is still running |
 * | 5xx, no JSON, anything else | `unknown` |
 * | could not connect | `not_executed` |
 * | timeout, connection lost | `unknown` |
 *
 * @see https://docs.stripe.com/api/errors
 * @see https://docs.stripe.com/error-low-level
 */
export function classifyStripeError(
  error: unknown,
  asked: Asked,
): Declined | NotExecuted | Unknown {
  const { StripeError, StripeConnectionError, StripeCardError } = Stripe.errors
  if (!(error instanceof StripeError)) {
    return unknown(asked, { error: 'unreadable answer' }, reasonOf(error))
  }
  if (error instanceof StripeConnectionError) return classifyConnectionError(error, asked)
  const answered = describeStripeError(error)
  if (error instanceof StripeCardError) return declined(error, asked, answered)
  if (error instanceof Stripe.errors.StripeIdempotencyError) {
    return unknown(asked, answered, error.message)
  }
  switch (error.statusCode) {
    case 400:
    case 404:
      return declined(error, asked, answered)
    case 401:
    case 403:
    case 429:
      return { outcome: 'not_executed', reason: error.message, asked, answered }
    default:
      return unknown(asked, answered, error.message)
  }
}

function classifyConnectionError(
  error: InstanceType<typeof Stripe.errors.StripeConnectionError>,
  asked: Asked,
): NotExecuted | Unknown {
  const code = connectionErrorCode(error.detail)
  const answered = { error: code ?? 'connection lost' }
  const outcome = code !== undefined && NEVER_CONNECTED.has(code) ? 'not_executed' : 'unknown'
  return { outcome, reason: error.message, asked, answered }
}

/** The system's code for a failed connection; Node bundles those of several addresses into one. */
function connectionErrorCode(detail: unknown): string | undefined {
  if (typeof detail !== 'object' || detail === null || !('code' in detail)) return undefined
  return typeof detail.code === 'string' ? detail.code : undefined
}

/** What Stripe answered, in the few words that a person needs to find the call in its dashboard. */
export function describeStripeError(
  error: InstanceType<typeof Stripe.errors.StripeError>,
): Answered {
  return {
    status: error.statusCode,
    request_id: error.requestId,
    code: error.code,
    decline_code: error.decline_code,
    message: error.message,
    payment_id: error.payment_intent?.id,
  }
}

export function declined(
  error: InstanceType<typeof Stripe.errors.StripeError>,
  asked: Asked,
  answered: Answered,
): Declined {
  return {
    outcome: 'declined',
    failure: {
      code: error.code ?? 'card_declined',
      declineCode: error.decline_code ?? null,
      message: error.message,
    },
    providerPaymentId: error.payment_intent?.id ?? null,
    asked,
    answered,
  }
}

export function unknown(asked: Asked, answered: Answered, reason: string): Unknown {
  return { outcome: 'unknown', reason, asked, answered }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : 'an error that is none'
}
