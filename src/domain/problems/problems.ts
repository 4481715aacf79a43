// The one table of problem types that the API answers with. Every way a request can fail is a row here:
// its status, its meaning, and what the caller does next.

import { invalid, type ProblemDefinition } from './problem-definition.ts'
import { trafficProblems } from './traffic-problems.ts'

export const problems = {
  ...trafficProblems,
  'idempotency-key-missing': invalid(
    400,
    'Idempotency-Key is missing',
    'Every POST needs an Idempotency-Key header: one new key for each intended operation, the same key for each retry of it. Nothing was executed.',
  ),
  'idempotency-key-empty': invalid(
    400,
    'Idempotency-Key is empty',
    'The header was sent without a key. A key has 1 to 255 characters. Nothing was executed.',
  ),
  'idempotency-key-too-long': invalid(
    400,
    'Idempotency-Key is too long',
    'A key has at most 255 characters. Nothing was executed.',
  ),
  'idempotency-key-malformed': invalid(
    400,
    'Idempotency-Key is malformed',
    'A key is either an RFC 9651 string in double quotes or bare visible ASCII without spaces. Nothing was executed.',
  ),
  'idempotency-key-repeated': invalid(
    400,
    'Idempotency-Key is repeated',
    'The header was sent more than once, so that the intended key cannot be told. Nothing was executed.',
  ),
  'malformed-json': invalid(
    400,
    'The body is not JSON',
    'The body must be one JSON object in UTF-8 (RFC 8259). Nothing was executed.',
  ),
  'duplicate-member': invalid(
    400,
    'A JSON member is repeated',
    'An object names the same member twice; parsers differ on which one counts, so neither does. Nothing was executed.',
  ),
  'nesting-too-deep': invalid(
    400,
    'The JSON is nested too deeply',
    'Objects and arrays may be nested 20 levels at most. Nothing was executed.',
  ),
  'forbidden-character': invalid(
    400,
    'The JSON holds a forbidden character',
    'Strings must be well-formed Unicode without NUL: no U+0000 and no lone surrogates. Nothing was executed.',
  ),
  'invalid-query': invalid(
    400,
    'A query parameter is invalid',
    'A parameter is unknown, repeated or outside its range. The detail names it.',
  ),
  'webhook-signature-invalid': invalid(
    400,
    'The signature is not valid',
    'The Stripe-Signature header is missing, or does not sign these bytes with the secret of this endpoint. Nothing was stored.',
  ),
  'webhook-too-old': invalid(
    400,
    'The signature is too old',
    'The event was signed more than five minutes ago. The provider signs it anew when it sends it again. Nothing was stored.',
  ),
  'webhook-malformed': invalid(
    400,
    'The event is malformed',
    'The signature is valid, but what it signs is not an event of the provider. Nothing was stored.',
  ),
  'api-key-missing': {
    status: 401,
    title: 'No API key',
    meaning: 'Send the secret key of your tenant as `Authorization: Bearer sk_...`.',
    stripeType: 'authentication_error',
  },
  'api-key-invalid': {
    status: 401,
    title: 'The API key is not valid',
    meaning: 'The key is malformed, unknown, expired or revoked; which of these is not told.',
    stripeType: 'authentication_error',
  },
  'operator-key-invalid': {
    status: 401,
    title: "No valid operator's key",
    meaning:
      'This route is for operators: send a key of theirs as `Authorization: Bearer adm_...`. Whether one was missing, malformed or unknown is not told; the API key of a tenant is none.',
    stripeType: 'authentication_error',
  },
  'payment-declined': {
    status: 402,
    title: 'The payment was declined',
    meaning:
      'The card was declined, or the provider refused the payment; `payment.failure` says why. This is a final result: a retry with the same key replays it. Use a new key to try another card.',
    stripeType: 'card_error',
  },
  'refund-declined': {
    status: 402,
    title: 'The refund was declined',
    meaning:
      'The provider refused the refund; `refund.failure` says why. This is a final result: a retry with the same key replays it.',
    stripeType: 'invalid_request_error',
  },
  'scope-missing': invalid(
    403,
    'The API key has not the scope for this',
    'The key works, but may not be used for this; the detail names the scope that is needed. Nothing was executed, and no Idempotency-Key is used up. Ask an operator for a key with that scope.',
  ),
  'resource-not-found': invalid(
    404,
    'No such resource',
    'There is no resource with this id that belongs to the tenant of the API key.',
  ),
  'route-not-found': invalid(404, 'No such route', 'The API has no such path.'),
  'method-not-allowed': invalid(
    405,
    'Method not allowed',
    'The path exists, but not for this method; the Allow header lists those it has.',
  ),
  'operation-timed-out': {
    status: 408,
    title: 'The operation was given up',
    meaning:
      'The operation was given up before it had any effect, and its client did not come back before the key expired. Nothing was executed, and nothing will be under this key: a retry replays this answer. Use a new key to try again.',
    stripeType: 'api_error',
  },
  'invalid-state': invalid(
    409,
    'The payment is not in a state for this',
    'The status of the payment does not allow the operation now: another operation works on it, or it has come too far. Nothing was executed, and the key is not used up. Read the payment.',
  ),
  'too-many-webhook-endpoints': invalid(
    409,
    'Too many webhook endpoints',
    'A tenant may have 20 webhook endpoints. Nothing was executed, and the key is not used up. Delete one that is not needed.',
  ),
  'webhook-endpoint-disabled': invalid(
    409,
    'The webhook endpoint is disabled',
    'The endpoint of the delivery is disabled or deleted, so that nothing is sent to it. Nothing was executed, and the key is not used up. Make a new endpoint, and read what it has missed from `/v1/events`.',
  ),
  'refund-exceeds-capture': invalid(
    409,
    'More than is left to refund',
    'The amount is more than what was captured less what is refunded or being refunded. Nothing was executed, and the key is not used up.',
  ),
  'nothing-to-resume': invalid(
    409,
    'Nothing is to be resumed',
    'The operation is completed, somebody is at it, or its payment has been changed since it was given up. Nothing was changed. Read the operation: `resume_would` says what a resume would do.',
  ),
  'operation-not-unknown': invalid(
    409,
    'The outcome is not unknown',
    'Only an operation in status `unknown` can be resolved. Nothing was changed. Read the operation.',
  ),
  'operation-not-completed': invalid(
    409,
    'The operation is not completed',
    'Only a completed operation has a stored response that could be dropped. Nothing was changed.',
  ),
  'api-key-ended': invalid(
    409,
    'The API key has ended',
    'The key is revoked or expired, or was rotated already. Nothing was changed. Rotate the key that has replaced it, or make a new one.',
  ),
  'finding-not-open': invalid(
    409,
    'The finding is not open',
    'Somebody has closed the finding already; it says who, and why. Nothing was changed.',
  ),
  'second-operator-needed': invalid(
    409,
    'A second operator is needed',
    'You have proposed exactly this already. Another operator has to send the same body within 24 hours of it. Nothing was changed.',
  ),
  'operation-in-progress': {
    status: 409,
    title: 'The operation is in progress',
    meaning:
      'Another request with this key is being worked on. Retry the same request with the same key after Retry-After, or send `Prefer: wait=N` to wait for its result.',
    stripeType: 'idempotency_error',
    retry: true,
  },
  'outcome-unknown': {
    status: 409,
    title: 'The outcome is not known yet',
    meaning:
      'The provider was asked, and its answer was lost. The operation is not executed a second time; reconciliation finds out what happened. Retry with the same key after Retry-After, or read the resource.',
    stripeType: 'idempotency_error',
    retry: true,
  },
  'idempotency-key-expired': {
    status: 410,
    title: 'Idempotency-Key has expired',
    meaning:
      'The key was used before, and the response to it is kept no more. Idempotency-Key-Expired says since when, and Idempotency-Earlier-Resource where the resource is that it was used for. Nothing was executed now. Read that resource; use a new key only for what is meant to happen once more.',
    stripeType: 'idempotency_error',
  },
  'response-dropped': invalid(
    410,
    'The stored response was dropped',
    'The operation of this key was executed, once, and is not executed again. Its response was dropped by an operator and is not to be had any more; `location`, where there is one, is where its resource can be read.',
  ),
  'body-too-large': invalid(
    413,
    'The body is too large',
    'A body may have 65,536 bytes at most, an event of the provider 1,048,576. Nothing was executed.',
  ),
  'unsupported-content-type': invalid(
    415,
    'Unsupported content type',
    'Send `Content-Type: application/json`, in UTF-8. Nothing was executed.',
  ),
  'unsupported-content-encoding': invalid(
    415,
    'Unsupported content encoding',
    'Send the body as it is: compressed bodies are not accepted. Nothing was executed.',
  ),
  'idempotency-key-reused': {
    status: 422,
    title: 'Idempotency-Key was used for another request',
    meaning:
      'This key already belongs to a request with another path or body. Nothing was executed, and the key is still good for its own request. Use a new key for a new operation.',
    stripeType: 'idempotency_error',
  },
  'unknown-field': invalid(
    422,
    'A field is unknown',
    'The body holds a field that this operation does not take. Nothing was executed, and the key is not used up.',
  ),
  'invalid-amount': invalid(
    422,
    'The amount is invalid',
    'An amount is a JSON integer in minor units (cents), from 1 to 99999999. Nothing was executed, and the key is not used up.',
  ),
  'capture-exceeds-authorization': invalid(
    422,
    'More than was authorized',
    'A capture takes at most the amount of the payment. Nothing was executed, and the key is not used up.',
  ),
  'unknown-currency': invalid(
    422,
    'The currency is unknown',
    'A currency is a three-letter ISO 4217 code in lower case, such as `usd`. Nothing was executed, and the key is not used up.',
  ),
  'invalid-field': invalid(
    422,
    'A field is invalid',
    'A field is missing, or its value is of the wrong type, length or form; `errors` lists each. Nothing was executed, and the key is not used up.',
  ),
  'webhook-url-refused': invalid(
    422,
    'The webhook URL is refused',
    'Webhooks are sent by https, without credentials in the URL, and to addresses of the public internet alone. Nothing was executed, and the key is not used up.',
  ),
  'card-number-refused': invalid(
    422,
    'A card number was sent',
    'The request holds what looks like a card number. Card numbers must never reach this API: send a payment method id of the provider. Nothing was executed, stored or logged.',
  ),
  'internal-error': {
    status: 500,
    title: 'Internal error',
    meaning:
      'A fault of this service. Whether the operation was accepted is not known: retry with the same key, which executes it once at most.',
    stripeType: 'api_error',
    retry: true,
  },
  'store-unavailable': {
    status: 503,
    title: 'The store is out of reach',
    meaning:
      'The database did not answer, and nothing is started without it. What was accepted before is executed once at most. Retry with the same key after Retry-After.',
    stripeType: 'api_error',
    retry: true,
  },
  'provider-unavailable': {
    status: 503,
    title: 'The provider is out of reach',
    meaning:
      'The provider could not be asked, and it is proved that the step which failed has moved no money. Retry with the same key after Retry-After: the operation goes on where it stopped.',
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
