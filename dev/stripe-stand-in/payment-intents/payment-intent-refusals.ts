// Refuses an action on a PaymentIntent whose status does not allow it, in the words of Stripe.
import type { PaymentIntent, PaymentIntentStatus } from './payment-intent.ts'
import { HOLD_ENDED, refusedByState, type StripeError } from '../requests/stripe-errors.ts'

interface ActionRule {
  refusal: string
  participle: string
  /** Stripe's special message for a succeeded intent. */
  whenSucceeded?: string
  statuses: readonly PaymentIntentStatus[]
}

const actionRules = {
  confirm: {
    refusal: 'You cannot confirm this PaymentIntent',
    participle: 'confirmed',
    whenSucceeded: 'it has already succeeded after being previously confirmed.',
    statuses: ['requires_payment_method', 'requires_confirmation', 'requires_action'],
  },
  capture: {
    refusal: 'This PaymentIntent could not be captured',
    participle: 'captured',
    whenSucceeded: 'it has already been captured.',
    statuses: ['requires_capture'],
  },
  increment: {
    refusal: 'You cannot increment the authorization of this PaymentIntent',
    participle: 'incremented',
    statuses: ['requires_capture'],
  },
  cancel: {
    refusal: 'You cannot cancel this PaymentIntent',
    participle: 'canceled',
    statuses: [
      'requires_payment_method',
      'requires_capture',
      'requires_confirmation',
      'requires_action',
    ],
  },
} as const satisfies Record<string, ActionRule>

/** @throws StripeError when the status of the intent does not allow the action. */
export function refuseUnlessAllowed(action: keyof typeof actionRules, intent: PaymentIntent): void {
  const { refusal, participle, statuses, whenSucceeded }: ActionRule = actionRules[action]
  const { status } = intent
  if (statuses.includes(status)) return
  const reason =
    (status === 'succeeded' && whenSucceeded) ||
    `it has a status of ${status}. Only a PaymentIntent with one of the following statuses may ` +
      `be ${participle}: ${statuses.join(', ')}.`
  throw unexpectedState(intent, `${refusal} because ${reason}`)
}

/** @throws StripeError when the hold has ended, but its intent is not canceled yet. */
export function refuseEndedHold(captureBefore: number | undefined, nowMs: number): void {
  if (captureBefore === undefined || nowMs < captureBefore * 1000) return
  throw refusedByState(HOLD_ENDED, { code: 'charge_expired_for_capture' })
}

/** 400: the state of the intent refuses the request. */
export function unexpectedState(intent: PaymentIntent, message: string): StripeError {
  const code = 'payment_intent_unexpected_state'
  return refusedByState(message, { code, payment_intent: intent })
}
