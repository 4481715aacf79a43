// Implements early fraud warnings (https://docs.stripe.com/api/radar/early_fraud_warnings): the bank
// reports fraud, which moves no money, and mostly precedes a dispute.
import type Stripe from 'stripe'
import { newId } from '../ids.ts'
import type { PaymentIntent } from '../payment-intents/payment-intent.ts'
import type { Records } from '../storage.ts'
import type { EventCause } from '../webhooks/event.ts'

/** Warns of a captured intent. */
export function warnOf(
  { objects, events }: Records,
  cause: EventCause,
  intent: PaymentIntent,
): void {
  const warning = {
    id: newId('issfr'),
    object: 'radar.early_fraud_warning',
    actionable: true,
    charge: String(intent.latest_charge),
    created: Math.floor(cause.nowMs / 1000),
    fraud_type: 'misc',
    livemode: false,
    payment_intent: intent.id,
  } satisfies Stripe.Radar.EarlyFraudWarning
  objects.save(warning)
  events.append(cause, 'radar.early_fraud_warning.created', warning)
}

/** A warning is actionable until its charge is disputed or fully refunded. */
export function endWarnings(
  { objects, events }: Records,
  cause: EventCause,
  paymentIntent: string,
): void {
  const filters = { payment_intent: paymentIntent }
  for (const warning of objects.list('radar.early_fraud_warning', { filters }).data) {
    const ended = { ...warning, actionable: false }
    objects.save(ended)
    events.append(cause, 'radar.early_fraud_warning.updated', ended, warning)
  }
}
