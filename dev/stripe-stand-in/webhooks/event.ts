// Creates events as Stripe sends them (https://docs.stripe.com/api/events/object), and chooses the
// event type for the status of a PaymentIntent. These functions are pure: the outbox stores events.
import type Stripe from 'stripe'
import type { ApiRequest } from '../requests/api-request.ts'
import { newId } from '../ids.ts'
import type { PaymentIntent } from '../payment-intents/payment-intent.ts'

/** The version of Stripe's API that the objects follow. */
const API_VERSION = '2026-06-24'

/** An event of any type, which narrows the types of its objects. */
type EventBase = Omit<Stripe.Event, 'type' | 'data'> & { type: EventType; data: { object: object } }

export type EventType = Stripe.Event['type']

/** The cause of an event, as far as the event shows it. */
export type EventCause = Pick<ApiRequest, 'nowMs' | 'idempotencyKey'> & { requestId?: string }

export function newEvent(
  { nowMs, requestId, idempotencyKey }: EventCause,
  type: EventType,
  object: object,
) {
  return {
    id: newId('evt'),
    object: 'event',
    type,
    api_version: API_VERSION,
    created: Math.floor(nowMs / 1000),
    data: { object },
    livemode: false,
    pending_webhooks: 1,
    request: { id: requestId ?? null, idempotency_key: idempotencyKey ?? null },
  } satisfies EventBase
}

/** Returns the event type for the status of an intent; undefined for a status without an event. */
export function eventTypeOf({ status, last_payment_error }: PaymentIntent): EventType | undefined {
  switch (status) {
    case 'requires_action':
      return 'payment_intent.requires_action'
    case 'requires_capture':
      return 'payment_intent.amount_capturable_updated'
    case 'succeeded':
      return 'payment_intent.succeeded'
    case 'canceled':
      return 'payment_intent.canceled'
    case 'requires_payment_method':
      return last_payment_error === null ? undefined : 'payment_intent.payment_failed'
    case 'requires_confirmation':
      return undefined
  }
}
