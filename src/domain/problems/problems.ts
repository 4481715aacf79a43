// The one table of problem types that the API answers with. Each row is one way in which a request
// can fail: its status, its meaning, and what the caller does next.
import { bodyProblems } from './body-problems.ts'
import { idempotencyProblems } from './idempotency-problems.ts'
import { operatorProblems } from './operator-problems.ts'
import { invalid, type ProblemDefinition } from './problem-definition.ts'
import { trafficProblems } from './traffic-problems.ts'

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
