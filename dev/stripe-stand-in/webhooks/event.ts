// Creates events as Stripe sends them (https://docs.stripe.com/api/events/object), and chooses the
// event type for the status of a PaymentIntent. These functions are pure: the outbox stores events.
import { isDeepStrictEqual } from 'node:util'
import Stripe from 'stripe'
import type { ApiRequest } from '../requests/api-request.ts'
import { newId } from '../ids.ts'
import type { PaymentIntent, PaymentIntentStatus } from '../payment-intents/payment-intent.ts'

export type EventType = Stripe.Event['type']

/** The object that an event of this type has. */
export type ObjectOf<Type extends EventType> = Extract<
  Stripe.Event,
  { type: Type }
>['data']['object']

/** The cause of an event, as far as the event shows it. */
export type EventCause = Pick<ApiRequest, 'nowMs'> &
  Partial<Pick<ApiRequest, 'idempotencyKey' | 'requestId'>>

/** @param before the object as it was, for an event of the type `*.updated`. */
export function newEvent<Type extends EventType>(
  { nowMs, requestId, idempotencyKey }: EventCause,
  type: Type,
  object: ObjectOf<Type>,
  before?: ObjectOf<Type>,
) {
  return {
    id: newId('evt'),
    object: 'event',
    type,
    data: before === undefined ? { object } : changed(before, object),
    // The version of the API that the objects follow.
    api_version: Stripe.API_VERSION,
    created: Math.floor(nowMs / 1000),
    livemode: false,
    pending_webhooks: 1,
    request: { id: requestId ?? null, idempotency_key: idempotencyKey ?? null },
  } satisfies Stripe.EventBase
}

/** The object, and what its changed members were. A member that it did not have was null. */
function changed<Changed extends object>(before: Changed, object: Changed) {
  const previous = Object.entries(object).flatMap(([name, value]) => {
    const was: unknown = before[name as keyof Changed] ?? null
    return isDeepStrictEqual(was, value ?? null) ? [] : [[name, was] as const]
  })
  return { object, previous_attributes: Object.fromEntries(previous) as Partial<Changed> }
}

const typeOfStatus = {
  requires_action: 'payment_intent.requires_action',
  requires_capture: 'payment_intent.amount_capturable_updated',
  succeeded: 'payment_intent.succeeded',
  canceled: 'payment_intent.canceled',
  requires_payment_method: 'payment_intent.payment_failed',
  requires_confirmation: undefined,
} as const satisfies Record<PaymentIntentStatus, EventType | undefined>

/** Returns the event type for the status of an intent; undefined for a status without an event. */
export function eventTypeOf({ status, last_payment_error: error }: PaymentIntent) {
  const isNew = status === 'requires_payment_method' && error === null
  return isNew ? undefined : typeOfStatus[status]
}
