// The one table of problem types that the API answers with. Each row is one way in which a request
// can fail: its status, its meaning, and what the caller does next.

type StripeErrorType =
  | 'api_error'
  | 'authentication_error'
  | 'card_error'
  | 'idempotency_error'
  | 'invalid_request_error'

interface ProblemRow {
  readonly status: number
  readonly title: string
  /** By default `invalid_request_error`. */
  readonly stripeType?: StripeErrorType
  /** The cause passes: the answer has Retry-After, and the same request may then succeed. */
  readonly retry?: true
  /** What happened and what the caller should do; shown on the page at the problem's `type` URI. */
  readonly meaning: string
}

// prettier-ignore
const rows = {
  // The connection and its limits.
  'malformed-request': { status: 400, title: 'The request is not valid HTTP',
    meaning: 'The request line, a header or the framing of the body violates HTTP, or the Host header is missing. The connection is closed. Nothing was executed.' },
  'request-timestamp-missing': { status: 400, title: 'Request-Timestamp is missing',
    meaning: 'This service requires a Request-Timestamp header on every keyed request: `t=<unix seconds>,v1=<signature>`. Nothing was executed.' },
  'request-timestamp-invalid': { status: 400, title: 'Request-Timestamp is not valid',
    meaning: 'The header is malformed, or its signature is not the HMAC-SHA-256 of `t.method.path.body` under the API key of the request. Nothing was executed.' },
  'request-too-old': { status: 400, title: 'The request is too old',
    meaning: 'According to its Request-Timestamp the request was made too long ago, or in the future. Nothing was executed, and the idempotency key is not used up. Sign the request again and send it with the same key.' },
  'request-timeout': { status: 408, title: 'The request arrived too slowly',
    meaning: 'The headers of a request must arrive two seconds after the time for which an idle connection is kept, 75 seconds by default, at the latest; its body within five seconds more. The connection is closed. Nothing was executed.' },
  'expectation-failed': { status: 417, title: 'The expectation cannot be met',
    meaning: 'The only supported value of the Expect header is `100-continue`. Nothing was executed.' },
  'rate-limited': { status: 429, title: 'Too many requests', retry: true,
    meaning: 'The tenant has used up its requests for this time window. The RateLimit and RateLimit-Policy headers show the limit. Nothing was executed, and the idempotency key is not used up. Retry after the time in Retry-After.' },
  'too-many-invalid-keys': { status: 429, title: 'Too many invalid API keys', retry: true,
    meaning: 'This client address has sent too many API keys that are not valid, and no other key is looked up for it until the time window ends. Nothing was executed, and the idempotency key is not used up. Check the API key, and retry after the time in Retry-After.' },
  'too-many-concurrent-requests': { status: 429, title: 'Too many requests at the same time',
    retry: true,
    meaning: 'The tenant has half of all requests that this process works on, and leaves the other half to other tenants. Nothing was executed, and the idempotency key is not used up. Send fewer requests at the same time, and retry after the time in Retry-After.' },
  'too-many-active-keys': { status: 429, title: 'Too many unfinished operations', retry: true,
    meaning: 'The tenant has reached its limit of unfinished operations. Nothing was executed, and the idempotency key is not used up. Retry with the same key after the time in Retry-After. Retries of accepted requests are not affected.' },
  'too-many-stored-keys': { status: 429, title: 'Too many stored idempotency keys', retry: true,
    meaning: 'The tenant has reached its limit of idempotency keys, which counts finished ones until the end of their retention. Nothing was executed, and the idempotency key is not used up. Retry with the same key after the time in Retry-After. Retries of accepted requests are not affected.' },
  'headers-too-large': { status: 431, title: 'The headers are too large',
    meaning: 'The request line and the headers together may have at most 16,384 bytes. The connection is closed. Nothing was executed.' },
  overloaded: { status: 503, title: 'Too many requests are in progress',
    stripeType: 'api_error', retry: true,
    meaning: 'This process is working on as many requests as it can, and does not queue more. Nothing was executed. Retry with the same key after the time in Retry-After.' },

  // Idempotency keys: bad keys, keys in use, and keys whose response is gone.
  'idempotency-key-missing': { status: 400, title: 'Idempotency-Key is missing',
    meaning: 'Every POST and DELETE below /v1, but the cancellation of a key, needs an Idempotency-Key header, or a Repeatability-Request-ID. Use a new key for each new operation, and the same key for each retry of it. Nothing was executed.' },
  'idempotency-key-empty': { status: 400, title: 'Idempotency-Key is empty',
    meaning: 'The Idempotency-Key header has no value. A key has 1 to 255 characters. Nothing was executed.' },
  'idempotency-key-too-short': { status: 400, title: 'Idempotency-Key is too short',
    meaning: 'The tenant has a minimum length for new keys, so that they cannot be guessed or repeated by chance. Nothing was executed. Use a UUID. A retry of an accepted request is not affected.' },
  'idempotency-key-too-long': { status: 400, title: 'Idempotency-Key is too long',
    meaning: 'A key has at most 255 characters. Nothing was executed.' },
  'idempotency-key-malformed': { status: 400, title: 'Idempotency-Key is malformed',
    meaning: 'A key is either an RFC 9651 string in double quotes, or visible ASCII without spaces that does not begin with a double quote. `.` and `..` are refused, because no URL can name them. Nothing was executed.' },
  'idempotency-key-repeated': { status: 400, title: 'Idempotency-Key is repeated',
    meaning: 'The request has more than one Idempotency-Key header, so the intended key is ambiguous. Nothing was executed.' },

  // The headers of OASIS Repeatable Requests 1.0, with the statuses of its section on servers, but
  // for the client's id: that a client can mend, so it is 400 where the specification says 501.
  'repeatability-request-id-malformed': { status: 400, title: 'Repeatability-Request-ID is malformed',
    meaning: 'A Repeatability-Request-ID is one value of 1 to 255 visible ASCII characters, without spaces and without quotes around it, and not `.` or `..`. Nothing was executed.' },
  'repeatability-first-sent-missing': { status: 400, title: 'Repeatability-First-Sent is missing',
    meaning: 'A request with a Repeatability-Request-ID also needs a Repeatability-First-Sent: when it was sent for the first time. Nothing was executed.' },
  'repeatability-first-sent-malformed': { status: 400, title: 'Repeatability-First-Sent is malformed',
    meaning: 'The header is one time in the form `Fri, 27 Nov 2026 08:49:37 GMT` (IMF-fixdate, RFC 9110 section 5.6.7). Nothing was executed.' },
  'repeatability-keys-differ': { status: 400, title: 'Idempotency-Key and Repeatability-Request-ID differ',
    meaning: 'The two headers are names for the same key. Send one of them, or the same value in both. Nothing was executed.' },
  'repeatability-first-sent-in-future': { status: 400, title: 'Repeatability-First-Sent is in the future',
    meaning: 'The time is more than five minutes ahead of the clock of the service, so it cannot tell when the key was used first. Nothing was executed, and the idempotency key is not used up. Correct the clock of the client.' },
  'repeatability-first-sent-too-old': { status: 412, title: 'The request was first sent too long ago',
    meaning: 'The service has no response for the key, and the request is so old that its key may have been used and deleted. Nothing was executed by this request. If an earlier one was executed, Idempotency-Earlier-Resource may name its resource. Look for it before you send the operation with a new key.' },
  'repeatability-client-id-unsupported': { status: 400, title: 'Repeatability-Client-ID is not supported',
    meaning: 'Keys belong to the tenant of the API key, and to no smaller unit. Send the request without this header. Nothing was executed.' },

  // Operations under way, ended or forgotten.
  'operation-timed-out': { status: 408, title: 'The operation timed out', stripeType: 'api_error',
    meaning: 'The operation was abandoned before it had any effect, and no retry arrived before its key expired. Nothing was executed, and nothing will be executed under this key: a retry replays this response. Use a new key to try again.' },
  'operation-in-progress': { status: 409, title: 'The operation is in progress',
    stripeType: 'idempotency_error', retry: true,
    meaning: 'Another request with this key is in progress. Retry the same request with the same key after the time in Retry-After, or send `Prefer: wait=N` to wait for the result.' },
  'outcome-unknown': { status: 409, title: 'The outcome is not known yet',
    stripeType: 'idempotency_error', retry: true,
    meaning: 'The provider was called, but its answer was lost. The service does not execute the operation a second time. It looks up at the provider what happened. Retry with the same key after the time in Retry-After, or read the resource.' },
  'idempotency-key-expired': { status: 410, title: 'Idempotency-Key has expired',
    stripeType: 'idempotency_error',
    meaning: 'The key was used before, and its response is no longer stored. Idempotency-Key-Expired shows when the key expired, and Idempotency-Earlier-Resource the path of the resource that the earlier request created or changed. This request was not executed. Read that resource. Use a new key only if the operation should happen once more.' },
  'response-dropped': { status: 410, title: 'The stored response was dropped',
    meaning: 'The operation of this key was executed once and is not executed again. An operator deleted its response. If `location` is present, read the resource there.' },
  'operation-canceled': { status: 410, title: 'The operation was canceled',
    stripeType: 'idempotency_error',
    meaning: 'The client canceled this key before anything was executed. Nothing was executed, and nothing will be executed under this key: a retry replays this response. Use a new key for a new operation.' },
  'operation-not-cancelable': { status: 409, title: 'The operation cannot be canceled',
    meaning: 'The operation of this key is completed, and the service cannot undo what it did. Only operations that take money are undone: a payment is canceled or refunded. Nothing was changed.' },
  'idempotency-key-reused': { status: 422, title: 'Idempotency-Key was used for another request',
    stripeType: 'idempotency_error',
    meaning: 'The key belongs to an earlier request with another path or body. Nothing was executed, and the key stays valid for that request. Use a new key for a new operation.' },

  // The body.
  'malformed-json': { status: 400, title: 'The body is not JSON',
    meaning: 'The body must be one JSON object in UTF-8 (RFC 8259). Nothing was executed.' },
  'duplicate-member': { status: 400, title: 'A JSON member is repeated',
    meaning: 'An object contains the same member twice. JSON parsers disagree on which one counts, so the body is refused. Nothing was executed.' },
  'nesting-too-deep': { status: 400, title: 'The JSON is nested too deeply',
    meaning: 'Objects and arrays may be nested at most 20 levels deep. Nothing was executed.' },
  'forbidden-character': { status: 400, title: 'The JSON contains a forbidden character',
    meaning: 'Strings must be well-formed Unicode without U+0000 (NUL) and without lone surrogates. Nothing was executed.' },
  'invalid-query': { status: 400, title: 'A query parameter is invalid',
    meaning: 'A parameter is unknown, repeated or out of range. The detail names it; for an unknown one, it lists those that exist.' },
  'body-too-large': { status: 413, title: 'The body is too large',
    meaning: 'A body may have at most 65,536 bytes, an event of the provider 1,048,576. Nothing was executed.' },
  'unsupported-content-type': { status: 415, title: 'Unsupported content type',
    meaning: 'Send `Content-Type: application/json`, in UTF-8. Nothing was executed.' },
  'unsupported-content-encoding': { status: 415, title: 'Unsupported content encoding',
    meaning: 'Compressed bodies are not accepted. Send the body without a content encoding. Nothing was executed.' },
  'unknown-field': { status: 422, title: 'A field is unknown',
    meaning: 'The body contains a field that this operation does not accept. Nothing was executed, and the idempotency key is not used up.' },
  'invalid-amount': { status: 422, title: 'The amount is invalid',
    meaning: 'An amount is a JSON integer in minor units (cents), from 1 to 99999999 (in some currencies more: see docs/currencies.md), in digits only: 1e3 and 1000.0 are refused. In some currencies it must be a multiple of 10 or 100, because the provider accepts no fractions there. Nothing was executed, and the idempotency key is not used up.' },
  'amount-too-small': { status: 422, title: 'The amount is too small',
    meaning: 'The provider charges no less than a minimum, for example 0.50 usd or 50 jpy. `errors` states the minimum of the currency, and openapi.yaml lists all of them. Nothing was executed, and the idempotency key is not used up.' },
  'capture-exceeds-authorization': { status: 422, title: 'The capture exceeds the authorization',
    meaning: 'A capture can take at most the amount of the payment. Nothing was executed, and the idempotency key is not used up.' },
  'unknown-currency': { status: 422, title: 'The currency is unknown',
    meaning: 'A currency is a three-letter ISO 4217 code in lower case, for example `usd`. Nothing was executed, and the idempotency key is not used up.' },
  'invalid-field': { status: 422, title: 'A field is invalid',
    meaning: 'A field is missing, or its value has the wrong type, length or format. `errors` lists each such field. Nothing was executed, and the idempotency key is not used up.' },
  'webhook-url-refused': { status: 422, title: 'The webhook URL is refused',
    meaning: 'A webhook URL must use https, must contain no credentials, no fragment and no control characters, and must lead to a public internet address. Nothing was executed, and the idempotency key is not used up.' },
  'card-number-refused': { status: 422, title: 'A card number was sent',
    meaning: 'The request contains text that looks like a card number. Card numbers must never reach this API: send a payment method id of the provider instead. Nothing was executed, stored or logged.' },
  'secret-refused': { status: 422, title: 'A secret was sent',
    meaning: 'The request contains an API key, an operator key, a webhook secret or an encryption key, as text. Text is stored and shown to people, in events and in webhooks. Nothing was executed, stored or logged. Replace the secret if others may have seen it.' },

  // Operators.
  'operator-key-invalid': { status: 401, title: 'The operator key is missing or not valid',
    stripeType: 'authentication_error',
    meaning: 'This route is for operators. Send an operator key as `Authorization: Bearer adm_...`, or log in to the console. An API key of a tenant is not accepted. The response does not say whether the key was missing, malformed or unknown.' },
  'operator-role-insufficient': { status: 403, title: 'The role of the operator does not allow this',
    meaning: 'The operator is a viewer, who may read everything and change nothing. Nothing was changed. Ask an operator with the role `operator`.' },
  'session-ended': { status: 401, title: 'The session has ended',
    stripeType: 'authentication_error',
    meaning: 'There is no session, or it was idle for too long, is older than twelve hours, was logged out, or the key of its operator was replaced. Nothing was changed. Log in to the console again.' },
  'csrf-token-invalid': { status: 403, title: 'The CSRF token is missing or not valid',
    meaning: 'A request by session that changes something needs the header `X-CSRF-Token` with the `csrf_token` of the session. Nothing was changed. Read the session again.' },
  'nothing-to-resume': { status: 409, title: 'There is nothing to resume',
    meaning: 'The operation is completed, a worker is working on it, or its payment has changed since the operation was given up. Nothing was changed. Read the operation: `resume_would` shows what a resume would do.' },
  'operation-not-unknown': { status: 409, title: 'The outcome is not unknown',
    meaning: 'Only an operation in status `unknown` can be resolved. Nothing was changed. Read the operation.' },
  'resolution-contradicted': { status: 409, title: 'The provider does not show this',
    meaning: 'A worker looked at the provider, which answered and does not show what you claimed. The detail says what it found, and what followed. Your claim is not acted on. Read the operation.' },
  'resolution-unverifiable': { status: 409, title: 'The claim could not be verified',
    meaning: 'A worker tried to verify your claim, and the provider did not answer. Your claim is not acted on, and the outcome stays unknown. Send it again when the provider answers. If that takes too long and it certainly did not happen, send `"unverified": true`, which needs a second operator.' },
  'key-window-passed': { status: 409, title: 'It is too late to resolve this without a look at the provider',
    meaning: 'The provider may have forgotten the key of the call, so a retry could execute it a second time. Nothing was changed. Send it without `unverified`: a worker then looks at the provider.' },
  'operation-not-completed': { status: 409, title: 'The operation is not completed',
    meaning: 'Only a completed operation has a stored response that can be dropped. Nothing was changed.' },
  'api-key-ended': { status: 409, title: 'The API key has ended',
    meaning: 'The API key was revoked, has expired or was already rotated. Nothing was changed. Rotate the key that replaced it, or create a new one.' },
  'customer-of-another-tenant': { status: 409, title: 'A customer belongs to another tenant',
    meaning: 'The detail says which customers, and to which tenants they belong. Nothing was changed. To move them, name their tenant in `from`.' },
  'finding-not-open': { status: 409, title: 'The finding is not open',
    meaning: 'The finding was already closed. It shows who closed it and why. Nothing was changed.' },
  'second-operator-needed': { status: 409, title: 'A second operator is needed',
    meaning: 'You have already proposed exactly this, or only one operator is configured. Another operator must send the same body within 24 hours of the proposal. Nothing was changed.' },

  'webhook-signature-invalid': { status: 400, title: 'The signature is not valid',
    meaning: 'The Stripe-Signature header is missing, or it is not a signature of this body with the secret of this endpoint. Nothing was stored.' },
  'webhook-too-old': { status: 400, title: 'The signature is too old',
    meaning: 'The event was signed more than five minutes ago, or in the future by more than that. The provider signs an event again each time it sends it. Nothing was stored.' },
  'webhook-malformed': { status: 400, title: 'The event is malformed',
    meaning: 'The signature is valid, but the signed body is not an event of the provider. Nothing was stored.' },
  'api-key-missing': { status: 401, title: 'The API key is missing',
    stripeType: 'authentication_error',
    meaning: 'Send the secret API key of your tenant as `Authorization: Bearer sk_...`.' },
  'api-key-invalid': { status: 401, title: 'The API key is not valid',
    stripeType: 'authentication_error',
    meaning: 'The API key is malformed, unknown, expired or revoked. The response does not say which of these.' },
  'payment-declined': { status: 402, title: 'The payment was declined', stripeType: 'card_error',
    meaning: 'The card was declined, or the provider refused the payment. `payment.failure` shows the reason, and `error.type` what it is about: `card_error` the card, `invalid_request_error` the request or the state of the payment, `api_error` the account of the merchant at the provider, so that no other card helps. This is a final result: a retry with the same key replays it. Use a new key to try another card.' },
  'authorization-expired': { status: 402, title: 'The authorization has expired',
    meaning: 'The provider released the held money before it was captured. Nothing was charged, and the payment is `canceled`. This is a final result: a retry with the same key replays it. Use a new key to create another payment.' },
  'refund-declined': { status: 402, title: 'The refund was declined',
    meaning: 'The provider refused the refund. `refund.failure` shows the reason. This is a final result: a retry with the same key replays it.' },
  'scope-missing': { status: 403, title: 'The API key lacks the required scope',
    meaning: 'The API key is valid, but it does not have the scope that this request needs. The detail names the scope. Nothing was executed, and the idempotency key is not used up. Ask an operator for an API key with that scope.' },
  'resource-not-found': { status: 404, title: 'No such resource',
    meaning: 'The tenant of the API key has no resource with this id.' },
  'customer-not-found': { status: 404, title: 'No such customer',
    meaning: 'The tenant of the API key has no customer with this id. An operator assigns the customers of the provider to tenants. Nothing was executed, and the idempotency key is not used up.' },
  'route-not-found': { status: 404, title: 'No such route',
    meaning: 'The API has no such path.' },
  'method-not-allowed': { status: 405, title: 'Method not allowed',
    meaning: 'The path exists, but it does not support this method. The Allow header lists the methods that it supports.' },
  'invalid-state': { status: 409, title: 'The status of the payment does not allow this',
    meaning: 'The operation is not possible in the current status of the payment: another operation is working on the payment, or the payment has already moved on. Nothing was executed, and a new idempotency key is not used up. If the request was given up and not retried until its key expired, and another request has ended the payment meanwhile, this is a final result: a retry with the same key replays it. Read the payment.' },
  'duplicate-reference': { status: 409, title: 'The reference is in use',
    meaning: 'Another payment of yours, or for a refund another refund, has this reference, and was not declined, canceled or given up. `earlier` names it. Do not pay again: read the earlier one at `location`. Nothing was executed, and the idempotency key is not used up. A new charge for something else needs a reference of its own.' },
  'reference-required': { status: 422, title: 'A reference is required',
    meaning: 'The tenant of the API key requires a reference for every payment and every refund. Nothing was executed, and the idempotency key is not used up. Send the name of what is paid or returned, for example the number of the order, as `reference`.' },
  'not-supported-by-provider': { status: 422, title: 'The provider does not support this',
    meaning: 'The provider of this payment cannot do what was asked for: capture a part, change the held amount, or release a hold. `detail` says which. Nothing was executed, and the idempotency key is not used up.' },
  'no-provider': { status: 422, title: 'No provider takes this payment',
    meaning: 'None of the providers of the tenant takes the currency of the payment, or the request has a payment method of none that does. Nothing was executed, and the idempotency key is not used up. Ask the operator of the service for the providers of your tenant.' },
  'too-many-webhook-endpoints': { status: 409, title: 'Too many webhook endpoints',
    meaning: 'A tenant may have at most 20 webhook endpoints. Nothing was executed, and the idempotency key is not used up. Delete an endpoint that is no longer needed.' },
  'webhook-endpoint-disabled': { status: 409, title: 'The webhook endpoint is disabled',
    meaning: 'The endpoint is disabled or deleted, so nothing is sent to it. Nothing was executed, and the idempotency key is not used up. Enable the endpoint, and read the missed events from `/v1/events`.' },
  'refund-exceeds-capture': { status: 409, title: 'The refund exceeds the refundable amount',
    meaning: 'The amount is larger than the captured amount minus all refunds that are completed or in progress. Nothing was executed, and the idempotency key is not used up.' },
  'charge-disputed': { status: 409, title: 'The payment is disputed',
    meaning: 'A disputed payment cannot be refunded: the bank has already taken the money. If the service knew of the dispute, nothing was executed, and the idempotency key is not used up. If the provider refused the refund, the answer has a `refund`, and is final: a retry with the same key replays it. Read `/v1/disputes`, and answer the dispute at the provider. An inquiry does not prevent a refund.' },
  'internal-error': { status: 500, title: 'Internal error', stripeType: 'api_error', retry: true,
    meaning: 'The service failed. It is not known whether the operation was accepted. Retry with the same key: the operation is executed at most once.' },
  'store-unavailable': { status: 503, title: 'The database is not available',
    stripeType: 'api_error', retry: true,
    meaning: 'The database did not answer, and the service starts no operation without it. An operation that was accepted before is executed at most once. Retry with the same key after the time in Retry-After.' },
  'provider-unavailable': { status: 503, title: 'The provider is not available',
    stripeType: 'api_error', retry: true,
    meaning: 'The provider could not be reached, and the failed step provably moved no money. Retry with the same key after the time in Retry-After: the operation continues where it stopped.' },
} as const satisfies Readonly<Record<string, ProblemRow>>

export type ProblemType = keyof typeof rows

export const problems = Object.fromEntries(
  Object.entries(rows).map(([type, row]) => [
    type,
    { stripeType: 'invalid_request_error', ...row } satisfies ProblemRow,
  ]),
) as Readonly<Record<ProblemType, ProblemRow & { readonly stripeType: StripeErrorType }>>

/** Whether the cause of the problem passes, so that the same request may succeed later. */
export function mayRetry(type: ProblemType): boolean {
  return problems[type].retry === true
}
