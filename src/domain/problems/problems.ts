// The one table of problem types that the API answers with. Each row is one way in which a request
// can fail: its status, its meaning, and what the caller does next.
import { idempotencyProblems } from './idempotency-problems.ts'
import { invalid, type ProblemDefinition, tooMany } from './problem-definition.ts'

const operatorProblems = {
  'operator-key-invalid': {
    status: 401,
    title: 'The operator key is missing or not valid',
    meaning:
      'This route is for operators. Send an operator key as `Authorization: Bearer adm_...`, or log in to the console. An API key of a tenant is not accepted. The response does not say whether the key was missing, malformed or unknown.',
    stripeType: 'authentication_error',
  },
  'operator-role-insufficient': invalid(
    403,
    'The role of the operator does not allow this',
    'The operator is a viewer, who may read everything and change nothing. Nothing was changed. Ask an operator with the role `operator`.',
  ),
  'session-ended': {
    status: 401,
    title: 'The session has ended',
    meaning:
      'There is no session, or it was idle for too long, is older than twelve hours, was logged out, or the key of its operator was replaced. Nothing was changed. Log in to the console again.',
    stripeType: 'authentication_error',
  },
  'csrf-token-invalid': invalid(
    403,
    'The CSRF token is missing or not valid',
    'A request by session that changes something needs the header `X-CSRF-Token` with the `csrf_token` of the session. Nothing was changed. Read the session again.',
  ),
  'nothing-to-resume': invalid(
    409,
    'There is nothing to resume',
    'The operation is completed, a worker is working on it, or its payment has changed since the operation was given up. Nothing was changed. Read the operation: `resume_would` shows what a resume would do.',
  ),
  'operation-not-unknown': invalid(
    409,
    'The outcome is not unknown',
    'Only an operation in status `unknown` can be resolved. Nothing was changed. Read the operation.',
  ),
  'resolution-contradicted': invalid(
    409,
    'The provider does not show this',
    'A worker looked at the provider, which answered and does not show what you claimed. The detail says what it found, and what followed. Your claim is not acted on. Read the operation.',
  ),
  'resolution-unverifiable': invalid(
    409,
    'The claim could not be verified',
    'A worker tried to verify your claim, and the provider did not answer. Your claim is not acted on, and the outcome stays unknown. Send it again when the provider answers. If that takes too long and it certainly did not happen, send `"unverified": true`, which needs a second operator.',
  ),
  'key-window-passed': invalid(
    409,
    'It is too late to resolve this without a look at the provider',
    'The provider may have forgotten the key of the call, so a retry could execute it a second time. Nothing was changed. Send it without `unverified`: a worker then looks at the provider.',
  ),
  'operation-not-completed': invalid(
    409,
    'The operation is not completed',
    'Only a completed operation has a stored response that can be dropped. Nothing was changed.',
  ),
  'api-key-ended': invalid(
    409,
    'The API key has ended',
    'The API key was revoked, has expired or was already rotated. Nothing was changed. Rotate the key that replaced it, or create a new one.',
  ),
  'customer-of-another-tenant': invalid(
    409,
    'A customer belongs to another tenant',
    'The detail says which customers, and to which tenants they belong. Nothing was changed. To move them, name their tenant in `from`.',
  ),
  'finding-not-open': invalid(
    409,
    'The finding is not open',
    'The finding was already closed. It shows who closed it and why. Nothing was changed.',
  ),
  'second-operator-needed': invalid(
    409,
    'A second operator is needed',
    'You have already proposed exactly this, or only one operator is configured. Another operator must send the same body within 24 hours of the proposal. Nothing was changed.',
  ),
} as const satisfies Record<string, ProblemDefinition>

const trafficProblems = {
  'malformed-request': invalid(
    400,
    'The request is not valid HTTP',
    'The request line, a header or the framing of the body violates HTTP, or the Host header is missing. The connection is closed. Nothing was executed.',
  ),
  'request-timestamp-missing': invalid(
    400,
    'Request-Timestamp is missing',
    'This service requires a Request-Timestamp header on every keyed request: `t=<unix seconds>,v1=<signature>`. Nothing was executed.',
  ),
  'request-timestamp-invalid': invalid(
    400,
    'Request-Timestamp is not valid',
    'The header is malformed, or its signature is not the HMAC-SHA-256 of `t.method.path.body` under the API key of the request. Nothing was executed.',
  ),
  'request-too-old': invalid(
    400,
    'The request is too old',
    'According to its Request-Timestamp the request was made too long ago, or in the future. Nothing was executed, and the idempotency key is not used up. Sign the request again and send it with the same key.',
  ),
  'request-timeout': invalid(
    408,
    'The request arrived too slowly',
    'The headers of a request must arrive two seconds after the time for which an idle connection is kept, 75 seconds by default, at the latest; its body within five seconds more. The connection is closed. Nothing was executed.',
  ),
  'expectation-failed': invalid(
    417,
    'The expectation cannot be met',
    'The only supported value of the Expect header is `100-continue`. Nothing was executed.',
  ),
  'rate-limited': tooMany(
    'Too many requests',
    'The tenant has used up its requests for this time window. The RateLimit and RateLimit-Policy headers show the limit. Nothing was executed, and the idempotency key is not used up. Retry after the time in Retry-After.',
  ),
  'too-many-invalid-keys': tooMany(
    'Too many invalid API keys',
    'This client address has sent too many API keys that are not valid, and no other key is looked up for it until the time window ends. Nothing was executed, and the idempotency key is not used up. Check the API key, and retry after the time in Retry-After.',
  ),
  'too-many-concurrent-requests': tooMany(
    'Too many requests at the same time',
    'The tenant has half of all requests that this process works on, and leaves the other half to other tenants. Nothing was executed, and the idempotency key is not used up. Send fewer requests at the same time, and retry after the time in Retry-After.',
  ),
  'too-many-active-keys': tooMany(
    'Too many unfinished operations',
    'The tenant has reached its limit of unfinished operations. Nothing was executed, and the idempotency key is not used up. Retry with the same key after the time in Retry-After. Retries of accepted requests are not affected.',
  ),
  'too-many-stored-keys': tooMany(
    'Too many stored idempotency keys',
    'The tenant has reached its limit of idempotency keys, which counts finished ones until the end of their retention. Nothing was executed, and the idempotency key is not used up. Retry with the same key after the time in Retry-After. Retries of accepted requests are not affected.',
  ),
  'headers-too-large': invalid(
    431,
    'The headers are too large',
    'The request line and the headers together may have at most 16,384 bytes. The connection is closed. Nothing was executed.',
  ),
  overloaded: {
    status: 503,
    title: 'Too many requests are in progress',
    meaning:
      'This process is working on as many requests as it can, and does not queue more. Nothing was executed. Retry with the same key after the time in Retry-After.',
    stripeType: 'api_error',
    retry: true,
  },
} as const satisfies Record<string, ProblemDefinition>

const bodyProblems = {
  'malformed-json': invalid(
    400,
    'The body is not JSON',
    'The body must be one JSON object in UTF-8 (RFC 8259). Nothing was executed.',
  ),
  'duplicate-member': invalid(
    400,
    'A JSON member is repeated',
    'An object contains the same member twice. JSON parsers disagree on which one counts, so the body is refused. Nothing was executed.',
  ),
  'nesting-too-deep': invalid(
    400,
    'The JSON is nested too deeply',
    'Objects and arrays may be nested at most 20 levels deep. Nothing was executed.',
  ),
  'forbidden-character': invalid(
    400,
    'The JSON contains a forbidden character',
    'Strings must be well-formed Unicode without U+0000 (NUL) and without lone surrogates. Nothing was executed.',
  ),
  'invalid-query': invalid(
    400,
    'A query parameter is invalid',
    'A parameter is unknown, repeated or out of range. The detail names it; for an unknown one, it lists those that exist.',
  ),
  'body-too-large': invalid(
    413,
    'The body is too large',
    'A body may have at most 65,536 bytes, an event of the provider 1,048,576. Nothing was executed.',
  ),
  'unsupported-content-type': invalid(
    415,
    'Unsupported content type',
    'Send `Content-Type: application/json`, in UTF-8. Nothing was executed.',
  ),
  'unsupported-content-encoding': invalid(
    415,
    'Unsupported content encoding',
    'Compressed bodies are not accepted. Send the body without a content encoding. Nothing was executed.',
  ),
  'unknown-field': invalid(
    422,
    'A field is unknown',
    'The body contains a field that this operation does not accept. Nothing was executed, and the idempotency key is not used up.',
  ),
  'invalid-amount': invalid(
    422,
    'The amount is invalid',
    'An amount is a JSON integer in minor units (cents), from 1 to 99999999 (in some currencies more: see docs/currencies.md), in digits only: 1e3 and 1000.0 are refused. In some currencies it must be a multiple of 10 or 100, because the provider accepts no fractions there. Nothing was executed, and the idempotency key is not used up.',
  ),
  'amount-too-small': invalid(
    422,
    'The amount is too small',
    'The provider charges no less than a minimum, for example 0.50 usd or 50 jpy. `errors` states the minimum of the currency, and openapi.yaml lists all of them. Nothing was executed, and the idempotency key is not used up.',
  ),
  'capture-exceeds-authorization': invalid(
    422,
    'The capture exceeds the authorization',
    'A capture can take at most the amount of the payment. Nothing was executed, and the idempotency key is not used up.',
  ),
  'unknown-currency': invalid(
    422,
    'The currency is unknown',
    'A currency is a three-letter ISO 4217 code in lower case, for example `usd`. Nothing was executed, and the idempotency key is not used up.',
  ),
  'invalid-field': invalid(
    422,
    'A field is invalid',
    'A field is missing, or its value has the wrong type, length or format. `errors` lists each such field. Nothing was executed, and the idempotency key is not used up.',
  ),
  'webhook-url-refused': invalid(
    422,
    'The webhook URL is refused',
    'A webhook URL must use https, must contain no credentials, no fragment and no control characters, and must lead to a public internet address. Nothing was executed, and the idempotency key is not used up.',
  ),
  'card-number-refused': invalid(
    422,
    'A card number was sent',
    'The request contains text that looks like a card number. Card numbers must never reach this API: send a payment method id of the provider instead. Nothing was executed, stored or logged.',
  ),
  'secret-refused': invalid(
    422,
    'A secret was sent',
    'The request contains an API key, an operator key, a webhook secret or an encryption key, as text. Text is stored and shown to people, in events and in webhooks. Nothing was executed, stored or logged. Replace the secret if others may have seen it.',
  ),
} as const satisfies Record<string, ProblemDefinition>

export const problems = {
  ...trafficProblems,
  ...idempotencyProblems,
  ...bodyProblems,
  ...operatorProblems,
  'webhook-signature-invalid': invalid(
    400,
    'The signature is not valid',
    'The Stripe-Signature header is missing, or it is not a signature of this body with the secret of this endpoint. Nothing was stored.',
  ),
  'webhook-too-old': invalid(
    400,
    'The signature is too old',
    'The event was signed more than five minutes ago, or in the future by more than that. The provider signs an event again each time it sends it. Nothing was stored.',
  ),
  'webhook-malformed': invalid(
    400,
    'The event is malformed',
    'The signature is valid, but the signed body is not an event of the provider. Nothing was stored.',
  ),
  'api-key-missing': {
    status: 401,
    title: 'The API key is missing',
    meaning: 'Send the secret API key of your tenant as `Authorization: Bearer sk_...`.',
    stripeType: 'authentication_error',
  },
  'api-key-invalid': {
    status: 401,
    title: 'The API key is not valid',
    meaning:
      'The API key is malformed, unknown, expired or revoked. The response does not say which of these.',
    stripeType: 'authentication_error',
  },
  'payment-declined': {
    status: 402,
    title: 'The payment was declined',
    meaning:
      'The card was declined, or the provider refused the payment. `payment.failure` shows the reason, and `error.type` what it is about: `card_error` the card, `invalid_request_error` the request or the state of the payment, `api_error` the account of the merchant at the provider, so that no other card helps. This is a final result: a retry with the same key replays it. Use a new key to try another card.',
    stripeType: 'card_error',
  },
  'authorization-expired': {
    status: 402,
    title: 'The authorization has expired',
    meaning:
      'The provider released the held money before it was captured. Nothing was charged, and the payment is `canceled`. This is a final result: a retry with the same key replays it. Use a new key to create another payment.',
    stripeType: 'invalid_request_error',
  },
  'refund-declined': {
    status: 402,
    title: 'The refund was declined',
    meaning:
      'The provider refused the refund. `refund.failure` shows the reason. This is a final result: a retry with the same key replays it.',
    stripeType: 'invalid_request_error',
  },
  'scope-missing': invalid(
    403,
    'The API key lacks the required scope',
    'The API key is valid, but it does not have the scope that this request needs. The detail names the scope. Nothing was executed, and the idempotency key is not used up. Ask an operator for an API key with that scope.',
  ),
  'resource-not-found': invalid(
    404,
    'No such resource',
    'The tenant of the API key has no resource with this id.',
  ),
  'customer-not-found': invalid(
    404,
    'No such customer',
    'The tenant of the API key has no customer with this id. An operator assigns the customers of the provider to tenants. Nothing was executed, and the idempotency key is not used up.',
  ),
  'route-not-found': invalid(404, 'No such route', 'The API has no such path.'),
  'method-not-allowed': invalid(
    405,
    'Method not allowed',
    'The path exists, but it does not support this method. The Allow header lists the methods that it supports.',
  ),
  'invalid-state': invalid(
    409,
    'The status of the payment does not allow this',
    'The operation is not possible in the current status of the payment: another operation is working on the payment, or the payment has already moved on. Nothing was executed, and a new idempotency key is not used up. If the request was given up and not retried until its key expired, and another request has ended the payment meanwhile, this is a final result: a retry with the same key replays it. Read the payment.',
  ),
  'duplicate-reference': invalid(
    409,
    'The reference is in use',
    'Another payment of yours, or for a refund another refund, has this reference, and was not declined, canceled or given up. `earlier` names it. Do not pay again: read the earlier one at `location`. Nothing was executed, and the idempotency key is not used up. A new charge for something else needs a reference of its own.',
  ),
  'reference-required': invalid(
    422,
    'A reference is required',
    'The tenant of the API key requires a reference for every payment and every refund. Nothing was executed, and the idempotency key is not used up. Send the name of what is paid or returned, for example the number of the order, as `reference`.',
  ),
  'not-supported-by-provider': invalid(
    422,
    'The provider does not support this',
    'The provider of this payment cannot do what was asked for: capture a part, change the held amount, or release a hold. `detail` says which. Nothing was executed, and the idempotency key is not used up.',
  ),
  'no-provider': invalid(
    422,
    'No provider takes this payment',
    'None of the providers of the tenant takes the currency of the payment, or the request has a payment method of none that does. Nothing was executed, and the idempotency key is not used up. Ask the operator of the service for the providers of your tenant.',
  ),
  'too-many-webhook-endpoints': invalid(
    409,
    'Too many webhook endpoints',
    'A tenant may have at most 20 webhook endpoints. Nothing was executed, and the idempotency key is not used up. Delete an endpoint that is no longer needed.',
  ),
  'webhook-endpoint-disabled': invalid(
    409,
    'The webhook endpoint is disabled',
    'The endpoint is disabled or deleted, so nothing is sent to it. Nothing was executed, and the idempotency key is not used up. Enable the endpoint, and read the missed events from `/v1/events`.',
  ),
  'refund-exceeds-capture': invalid(
    409,
    'The refund exceeds the refundable amount',
    'The amount is larger than the captured amount minus all refunds that are completed or in progress. Nothing was executed, and the idempotency key is not used up.',
  ),
  'charge-disputed': invalid(
    409,
    'The payment is disputed',
    'A disputed payment cannot be refunded: the bank has already taken the money. If the service knew of the dispute, nothing was executed, and the idempotency key is not used up. If the provider refused the refund, the answer has a `refund`, and is final: a retry with the same key replays it. Read `/v1/disputes`, and answer the dispute at the provider. An inquiry does not prevent a refund.',
  ),
  'internal-error': {
    status: 500,
    title: 'Internal error',
    meaning:
      'The service failed. It is not known whether the operation was accepted. Retry with the same key: the operation is executed at most once.',
    stripeType: 'api_error',
    retry: true,
  },
  'store-unavailable': {
    status: 503,
    title: 'The database is not available',
    meaning:
      'The database did not answer, and the service starts no operation without it. An operation that was accepted before is executed at most once. Retry with the same key after the time in Retry-After.',
    stripeType: 'api_error',
    retry: true,
  },
  'provider-unavailable': {
    status: 503,
    title: 'The provider is not available',
    meaning:
      'The provider could not be reached, and the failed step provably moved no money. Retry with the same key after the time in Retry-After: the operation continues where it stopped.',
    stripeType: 'api_error',
    retry: true,
  },
} as const satisfies Record<string, ProblemDefinition>

export type ProblemType = keyof typeof problems

/** Whether the cause of the problem passes, so that the same request may succeed later. */
export function mayRetry(type: ProblemType): boolean {
  const { retry }: ProblemDefinition = problems[type]
  return retry === true
}
