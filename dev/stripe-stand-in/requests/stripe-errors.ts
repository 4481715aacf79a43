// Creates Stripe's errors, one function for each refusal, with the status, type, code and message
// of Stripe (https://docs.stripe.com/error-codes).
import type Stripe from 'stripe'

type StripeErrorDetails = Stripe.StripeRawError & { type: StripeErrorType; message: string }

type StripeErrorType = 'api_error' | 'card_error' | 'idempotency_error' | 'invalid_request_error'

export interface ErrorBody {
  error: Stripe.StripeRawError
}

/** Returns the body of an error, with the URL of the page that explains its code. */
export function errorBody(details: Stripe.StripeRawError): ErrorBody {
  const page = details.code?.replaceAll('_', '-')
  const docUrl = page && { doc_url: `https://stripe.com/docs/error-codes/${page}` }
  return { error: { ...details, ...docUrl } }
}

/** A refused request. It may be thrown only before the first write. */
export class StripeError extends Error {
  override name = 'StripeError'
  readonly status: number
  readonly body: ErrorBody
  /** Stripe keeps the result of an idempotency key only when an endpoint began executing. */
  readonly beganExecuting: boolean
  readonly headers: Readonly<Record<string, string>>

  constructor(
    status: number,
    details: StripeErrorDetails,
    beganExecuting = false,
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(details.message)
    this.headers = headers
    this.status = status
    this.body = errorBody(details)
    this.beganExecuting = beganExecuting
  }
}

interface Refusal {
  code?: string
  param?: string
  payment_intent?: Stripe.PaymentIntent
  charge?: string
  /** 400 if not set. */
  status?: number
  beganExecuting?: boolean
  headers?: Readonly<Record<string, string>>
}

function invalidRequest(
  message: string,
  { status = 400, beganExecuting, headers, ...details }: Refusal = {},
): StripeError {
  const body = { type: 'invalid_request_error', message, ...details } as const
  return new StripeError(status, body, beganExecuting, headers)
}

/** 401: the request has no secret key. */
export function missingApiKey(): StripeError {
  const message =
    'You did not provide an API key. You need to provide your API key in the Authorization ' +
    "header, using Bearer auth (e.g. 'Authorization: Bearer YOUR_SECRET_KEY'). See " +
    'https://stripe.com/docs/api#authentication for details, or we can help at ' +
    'https://support.stripe.com/.'
  return invalidRequest(message, { status: 401 })
}

/** 401. The message does not repeat the key: it may be a live key that was sent by mistake. */
export function invalidApiKey(): StripeError {
  const message =
    'Invalid API Key provided. A secret key starts with sk_test_, sk_live_, rk_test_ or rk_live_.'
  return invalidRequest(message, { status: 401 })
}

/** 403: the restricted key lacks the permission for the resource. */
export function permissionMissing(account: string, resource: string): StripeError {
  const message =
    "The provided key 'rk_***' does not have the required permissions for this endpoint on account " +
    `'acct_${account.split(' ')[0]}'. Having the 'rak_${resource}_write' permission would allow this ` +
    'request to continue.'
  return invalidRequest(message, { status: 403 })
}

/** 404: no endpoint has this method and path. */
export function unknownUrl(method: string, path: string): StripeError {
  const message =
    `Unrecognized request URL (${method}: ${path}). Please see https://stripe.com/docs or we can ` +
    'help at https://support.stripe.com/.'
  return invalidRequest(message, { status: 404 })
}

/** A request whose body cannot be parsed, with the parser's status. */
export function malformedRequest(status: number, message: string): StripeError {
  return invalidRequest(message, { status: status })
}

/** 400: a required parameter is unset. */
export function missingParameter(
  param: string,
  message = `Missing required param: ${param}.`,
): StripeError {
  return invalidRequest(message, { code: 'parameter_missing', param })
}

/** 400: Stripe has no such parameters, or not in this version. */
export function unknownParameters(names: readonly string[]): StripeError {
  const message = `Received unknown parameter${names.length > 1 ? 's' : ''}: ${names.join(', ')}`
  return invalidRequest(message, { code: 'parameter_unknown', param: names[0] ?? '' })
}

/** 400: a version that the stand-in does not speak. The message does not repeat the header. */
export function unknownVersion(): StripeError {
  const message = 'Invalid Stripe API version: this stand-in speaks 2026-09-30.endive and later.'
  return invalidRequest(message)
}

/** 400: two parameters exclude each other. */
export function exclusiveParameters(one: string, other: string): StripeError {
  const message = `You may only specify one of these parameters: ${one}, ${other}.`
  return invalidParameter(one, message)
}

/** 400: a parameter has an invalid value. */
export function invalidParameter(param: string, message: string, code?: string): StripeError {
  return invalidRequest(message, code === undefined ? { param } : { param, code })
}

/** 400: the property cannot be expanded. Of a list, those of its members can. */
export function cannotExpand(property: string, instead?: string): StripeError {
  const hint = instead === undefined ? '' : ` You may want to try expanding '${instead}' instead.`
  const message = `This property cannot be expanded (${property}).${hint}`
  return invalidRequest(message)
}

/** 400: the property is inside of too many others. */
export function expandedTooDeep(property: string): StripeError {
  const message = `You cannot expand more than 4 levels of a property. Property: ${property}`
  return invalidRequest(message, { code: 'property_expansion_max_depth' })
}

/** 400: a search whose query has a wrong form. Stripe's words for an operator of another type are unknown. */
export function invalidQuery(): StripeError {
  const message =
    'We were unable to parse your search query. Try using the format `metadata["key"]:"value"` to ' +
    'query for metadata or key:"value" to query for other fields.'
  return invalidRequest(message)
}

/** 400: a field that cannot be searched. */
export function unsearchable(field: string, resource: string): StripeError {
  const message =
    `Field \`${field}\` is an unsupported search field for resource \`${resource}\`. See ` +
    `http://stripe.com/docs/search#query-fields-for-${resource.replace('_', '-')} for a list of ` +
    'supported fields.'
  return invalidRequest(message)
}

/** 404: an object in the URL or in a parameter does not exist. */
export function noSuchObject(kind: string, id: string, param: string): StripeError {
  const message = `No such ${kind}: '${id}'`
  const details = { status: 404, code: 'resource_missing', param, beganExecuting: true }
  return invalidRequest(message, details)
}

/** 400: the state of an object refuses the request. The endpoint has therefore begun executing. */
export function refusedByState(
  message: string,
  details: Pick<Refusal, 'code' | 'param' | 'payment_intent' | 'charge'>,
): StripeError {
  return invalidRequest(message, { ...details, beganExecuting: true })
}

/**
 * The message of a capture after its hold has ended. Stripe has two codes for it; which of them it
 * sends when is not documented.
 */
export const HOLD_ENDED =
  'The charge cannot be captured as the authorization has expired. Auth and capture charges must ' +
  'be captured within a set number of days (7 by default).'

/** 400: an idempotency key that is too long, or empty. */
export function keyOfWrongLength(length: number): StripeError {
  const message =
    `Idempotent key length is ${length}, which is outside accepted lengths. Idempotent Keys must ` +
    "be 1-255 characters long. If you're looking for a decent generator, try using a UUID defined " +
    'by IETF RFC 4122.'
  return new StripeError(400, { type: 'idempotency_error', message })
}

/** 400: the idempotency key belongs to a request with another path or other parameters. */
export function keyUsedDifferently(key: string): StripeError {
  const message =
    'Keys for idempotent requests can only be used with the same parameters they were first used ' +
    `with. Try using a key other than '${key}' if you meant to execute a different request.`
  return new StripeError(400, { type: 'idempotency_error', message })
}

/** 409: another request with the same idempotency key is being executed. */
export function keyInUse(key: string): StripeError {
  const message =
    'There is currently another in-progress request using this Idempotent Key (that probably ' +
    `means you submitted twice, and the other request is still going through): ${key}. Please ` +
    'try again later.'
  return invalidRequest(message, { status: 409, code: 'idempotency_key_in_use' })
}

/** The values of `Stripe-Rate-Limited-Reason`. */
export type RateLimitReason =
  | 'global-rate'
  | 'endpoint-rate'
  | 'global-concurrency'
  | 'endpoint-concurrency'
  | 'resource-specific'

/** 429: too many requests. Stripe names the limit in a header. */
export function rateLimited(reason?: RateLimitReason): StripeError {
  const message =
    'Testmode request rate limit exceeded, the rate limits in testmode are lower than livemode. ' +
    'You can learn more about rate limits here https://stripe.com/docs/rate-limits.'
  const headers = reason === undefined ? {} : { 'Stripe-Rate-Limited-Reason': reason }
  return invalidRequest(message, { status: 429, code: 'rate_limit', headers })
}

/** 429: another request holds the object. It may be repeated. */
export function lockTimeout(): StripeError {
  const message =
    'This object cannot be accessed right now because another API request or Stripe process is ' +
    'currently accessing it. If you see this error intermittently, retry the request.'
  const headers = { 'Stripe-Should-Retry': 'true' }
  return invalidRequest(message, { status: 429, code: 'lock_timeout', headers })
}

/**
 * 500: Stripe itself failed.
 *
 * @param beganExecuting whether the endpoint had begun to execute: then the key keeps the 500.
 */
export function serverError(beganExecuting = false): StripeError {
  const message =
    "Sorry! There was an error while talking to one of our backends. We've already been notified " +
    'of the problem, but please contact support@stripe.com with any questions you may have.'
  return new StripeError(500, { type: 'api_error', message }, beganExecuting)
}

/** 503: Stripe did not take the request. */
export function unavailable(): StripeError {
  return new StripeError(503, { type: 'api_error', message: 'Service Unavailable' })
}
