// Creates events as Stripe sends them (https://docs.stripe.com/api/events/object), and chooses the
// event type for the status of a PaymentIntent. These functions are pure: the outbox stores events.
import { isDeepStrictEqual } from 'node:util'
import Stripe from 'stripe'
import type { ApiRequest } from '../requests/api-request.ts'
import { newId } from '../ids.ts'
import type { PaymentIntent } from '../payment-intents/payment-intent.ts'

/** The events that the stand-in sends. */
type SentEvent =
  | Stripe.ChargeDisputeClosedEvent
  | Stripe.ChargeDisputeCreatedEvent
  | Stripe.ChargeDisputeFundsReinstatedEvent
  | Stripe.ChargeDisputeFundsWithdrawnEvent
  | Stripe.ChargeDisputeUpdatedEvent
  | Stripe.ChargeExpiredEvent
  | Stripe.ChargeRefundUpdatedEvent
  | Stripe.ChargeRefundedEvent
  | Stripe.PaymentIntentAmountCapturableUpdatedEvent
  | Stripe.PaymentIntentCanceledEvent
  | Stripe.PaymentIntentCreatedEvent
  | Stripe.PaymentIntentPaymentFailedEvent
  | Stripe.PaymentIntentRequiresActionEvent
  | Stripe.PaymentIntentSucceededEvent
  | Stripe.RadarEarlyFraudWarningCreatedEvent
  | Stripe.RadarEarlyFraudWarningUpdatedEvent
  | Stripe.RefundCreatedEvent
  | Stripe.RefundFailedEvent
  | Stripe.RefundUpdatedEvent

/** The type of an event, and the object that an event of this type has. */
export type EventContent = ContentOf<SentEvent>

type ContentOf<Sent> = Sent extends SentEvent ? Pick<Sent, 'type' | 'data'> : never

type PaymentIntentEventType = Extract<SentEvent['type'], `payment_intent.${string}`>

/** The cause of an event, as far as the event shows it. */
export type EventCause = Pick<ApiRequest, 'nowMs' | 'idempotencyKey'> & { requestId?: string }

export function newEvent({ nowMs, requestId, idempotencyKey }: EventCause, content: EventContent) {
  return {
    id: newId('evt'),
    object: 'event',
    ...content,
    // The version of the API that the objects follow.
    api_version: Stripe.API_VERSION,
    created: Math.floor(nowMs / 1000),
    livemode: false,
    pending_webhooks: 1,
    request: { id: requestId ?? null, idempotency_key: idempotencyKey ?? null },
  } satisfies Stripe.Event
}

/**
 * The data of an event of the type `*.updated`: the object, and what its changed members were. A member
 * that it did not have was null.
 */
export function changed<Changed extends object>(before: Changed, object: Changed) {
  const previous = Object.entries(object).flatMap(([name, value]) => {
    const was: unknown = before[name as keyof Changed] ?? null
    return isDeepStrictEqual(was, value ?? null) ? [] : [[name, was] as const]
  })
  return { object, previous_attributes: Object.fromEntries(previous) as Partial<Changed> }
}

/** Returns the event type for the status of an intent; undefined for a status without an event. */
export function eventTypeOf({
  status,
  last_payment_error,
}: PaymentIntent): PaymentIntentEventType | undefined {
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
