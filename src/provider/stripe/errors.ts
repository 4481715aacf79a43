// Sorts everything that can go wrong on the way to Stripe and back into outcomes. Only what is proved
// not to have run is `not_executed`; when in doubt, `unknown`.
import Stripe from 'stripe'
import type { Declined, NotExecuted, Unknown } from '../../domain/operations/outcome.ts'
import { fitText, fitTextOrNothing, isObjectId } from '../provider-text.ts'

type StripeError = InstanceType<typeof Stripe.errors.StripeError>
type AnswerDescription = Readonly<Record<string, unknown>>
export type CallDescription = Readonly<Record<string, unknown>>

/**
 * No connection came about, so that no byte of the request was sent, provided that one of
 * CONNECTING failed: of a connection that has carried the request the network can say the same.
 */
const NOT_CONNECTED = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
])

export const UNEXPECTED_STATE = 'payment_intent_unexpected_state'

/** The system calls that make a connection. */
const CONNECTING = new Set(['getaddrinfo', 'connect'])

/** The server did not prove who it is, so that the connection was dropped before the request. */
const NOT_TRUSTED = new Set([
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
 * | 400, 404 `resource_missing` | `declined`: Stripe refused the request as it stands, and always will |
 * | 400 `payment_intent_unexpected_state` | `unknown`, unless the intent that comes with it tells more |
 * | 400 `idempotency_error` | `unknown`: the key has been used, with what effect cannot be told |
 * | 401, 403, 429, any other 404, 400 `rate_limit` | `not_executed`: refused at the door |
 * | 409 | `unknown`: an earlier call with this key is still running |
 * | 5xx, no JSON, not in the shape of Stripe's errors, anything else | `unknown` |
 * | could not connect | `not_executed` |
 * | timeout, connection lost | `unknown` |
 *
 * @see https://docs.stripe.com/api/errors
 * @see https://docs.stripe.com/error-low-level
 */
export function classifyStripeError(
  error: unknown,
  asked: CallDescription,
): Declined | NotExecuted | Unknown {
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
  if (error instanceof StripeRateLimitError) return notExecuted(error, asked, answered)
  switch (error.statusCode) {
    case 400:
      // What was asked for may be what brought the object into this state.
      return error.code === UNEXPECTED_STATE
        ? unknown(asked, answered, error.message)
        : declined(error, asked, answered)
    case 404:
      // Without its code it is the URL that is missing, and nobody was there to do anything.
      return error.code === 'resource_missing'
        ? declined(error, asked, answered)
        : notExecuted(error, asked, answered)
    case 401:
    case 403:
      return notExecuted(error, asked, answered)
    default:
      return unknown(asked, answered, error.message)
  }
}

/** Whether Stripe says that it has no object of that id. */
export function isMissing(error: unknown): boolean {
  return (
    error instanceof Stripe.errors.StripeInvalidRequestError &&
    error.statusCode === 404 &&
    error.code === 'resource_missing'
  )
}

/**
 * Whether Stripe itself answered. A proxy on the way has errors of its own shape, and may have passed
 * on the request that it complains about.
 */
function isStripesOwn({ rawType }: StripeError): boolean {
  return rawType?.endsWith('_error') ?? false
}

function classifyConnectionError(
  error: StripeError,
  asked: CallDescription,
): NotExecuted | Unknown {
  const answered = { error: textOf(error.detail, 'code') ?? 'connection lost' }
  if (neverSent(error.detail)) return notExecuted(error, asked, answered)
  return unknown(asked, answered, error.message)
}

/** Whether the system says that the request never left; Node bundles the errors of several addresses. */
function neverSent(failure: unknown): boolean {
  const bundled = memberOf(failure, 'errors')
  if (Array.isArray(bundled)) return bundled.every(neverSent)
  const code = textOf(failure, 'code') ?? ''
  const syscall = textOf(failure, 'syscall') ?? ''
  return NOT_TRUSTED.has(code) || (NOT_CONNECTED.has(code) && CONNECTING.has(syscall))
}

function textOf(failure: unknown, name: string): string | undefined {
  const member = memberOf(failure, name)
  return typeof member === 'string' ? member : undefined
}

function memberOf(failure: unknown, name: string): unknown {
  return (failure as Record<string, unknown> | null | undefined)?.[name]
}

/** What Stripe answered, in the few words that a person needs to find the call in its dashboard. */
export function describeStripeError(error: StripeError): AnswerDescription {
  return {
    status: error.statusCode,
    request_id: fitTextOrNothing(error.requestId),
    code: fitTextOrNothing(error.code),
    decline_code: fitTextOrNothing(error.decline_code),
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

export function unknown(
  asked: CallDescription,
  answered: AnswerDescription,
  reason: string,
): Unknown {
  return { outcome: 'unknown', reason: fitText(reason), asked, answered }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : 'an error that is none'
}
