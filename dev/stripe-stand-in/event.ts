// Creates events as Stripe sends them (https://docs.stripe.com/api/events/object), and chooses the
// event type for the status of a PaymentIntent. These functions are pure: the outbox stores events.
import type { ApiRequest } from './api-request.ts'
import { newId } from './ids.ts'
import type { PaymentIntent } from './payment-intent.ts'

/** The version of Stripe's API that the objects follow. */
const API_VERSION = '2026-06-24'

export interface ProviderEvent {
  id: string
  object: 'event'
  type: string
  api_version: string
  /** Seconds since 1970. */
  created: number
  data: { object: object }
  livemode: false
  pending_webhooks: number
  /** The request that caused the event; nulls for a control route. */
  request: { id: string | null; idempotency_key: string | null }
}

/** The cause of an event, as far as the event shows it. */
export type EventCause = Pick<ApiRequest, 'nowMs' | 'idempotencyKey'> & { requestId?: string }

export function newEvent(
  { nowMs, requestId, idempotencyKey }: EventCause,
  type: string,
  object: object,
): ProviderEvent {
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
  }
}

/** Returns the event type for the status of an intent; undefined for a status without an event. */
export function eventTypeOf({ status, last_payment_error }: PaymentIntent): string | undefined {
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

/** Returns the charge of an intent, with the members that events show. Amounts in minor units. */
export function chargeOf(intent: PaymentIntent, amountRefunded: number): object {
  const { latest_charge: id, amount, amount_received, currency, metadata, created } = intent
  return {
    id,
    object: 'charge',
    amount,
    amount_captured: amount_received,
    amount_refunded: amountRefunded,
    captured: amount_received > 0,
    created,
    currency,
    livemode: false,
    metadata,
    payment_intent: intent.id,
    refunded: amountRefunded === amount_received,
    status: 'succeeded',
  }
}
