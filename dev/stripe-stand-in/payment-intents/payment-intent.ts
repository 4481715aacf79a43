// Defines a PaymentIntent and the transitions of its state machine
// (https://docs.stripe.com/payments/paymentintents/lifecycle). These functions are pure: the
// endpoints store the result.
import type Stripe from 'stripe'
import type { UsedMethod } from '../customers/saved-method.ts'
import { newId } from '../ids.ts'
import type { Decline } from './payment-methods.ts'

export type PaymentIntentStatus =
  | 'requires_payment_method'
  | 'requires_confirmation'
  | 'requires_action'
  | 'requires_capture'
  | 'succeeded'
  | 'canceled'

export const captureMethods = ['automatic', 'automatic_async', 'manual'] as const

export const cancellationReasons = [
  'duplicate',
  'fraudulent',
  'requested_by_customer',
  'abandoned',
] as const

export const incrementalSupport = ['if_available', 'never'] as const

export interface PaymentIntent extends Stripe.PaymentIntent {
  status: PaymentIntentStatus
  payment_method: string | null
  customer: string | null
  latest_charge: string | null
  last_payment_error: PaymentError | null
  /** Whether the card's network may be asked for more later. */
  payment_method_options: { card: Stripe.PaymentIntent.PaymentMethodOptions.Card }
}

type PaymentError = Stripe.PaymentIntent.LastPaymentError & {
  type: 'card_error' | 'invalid_request_error'
}

/** The members that the client sets. */
export type PaymentIntentTerms = Pick<
  PaymentIntent,
  | 'amount'
  | 'currency'
  | 'capture_method'
  | 'payment_method'
  // The client's restriction. `payment_method_types` is the resulting list.
  | 'allowed_payment_method_types'
  | 'payment_method_types'
  | 'customer'
  | 'description'
  | 'metadata'
  | 'payment_method_options'
>

/** Members that the stand-in never sets. They exist because clients may read them. */
const UNUSED_MEMBERS = {
  amount_details: { tip: {} },
  application: null,
  application_fee_amount: null,
  automatic_payment_methods: null,
  customer_account: null,
  excluded_payment_method_types: null,
  managed_payments: null,
  on_behalf_of: null,
  payment_method_configuration_details: null,
  payment_record: null,
  processing: null,
  receipt_email: null,
  review: null,
  setup_future_usage: null,
  shipping: null,
  source: null,
  statement_descriptor: null,
  statement_descriptor_suffix: null,
  transfer_data: null,
  transfer_group: null,
}

/** Creates an unpaid intent, at the given second. */
export function newPaymentIntent(terms: PaymentIntentTerms, created: number): PaymentIntent {
  const id = newId('pi')
  return {
    id,
    object: 'payment_intent',
    ...UNUSED_MEMBERS,
    ...terms,
    status: terms.payment_method === null ? 'requires_payment_method' : 'requires_confirmation',
    amount_capturable: 0,
    amount_received: 0,
    client_secret: `${id}_${newId('secret')}`,
    latest_charge: null,
    next_action: null,
    last_payment_error: null,
    created,
    canceled_at: null,
    cancellation_reason: null,
    confirmation_method: 'automatic',
    livemode: false,
  } satisfies Stripe.PaymentIntent
}

const authenticationRequired: Decline = {
  kind: 'decline',
  code: 'authentication_required',
  declineCode: 'authentication_required',
  message:
    'This payment required an authentication action to complete, but `error_on_requires_action` ' +
    'or `off_session` was set.',
}

/** Pays with a method. `canAuthenticate` is whether the cardholder can pass 3-D Secure now. */
export function confirmIntent(
  intent: PaymentIntent,
  method: UsedMethod,
  canAuthenticate: boolean,
): PaymentIntent {
  const unpaid = { last_payment_error: null, next_action: null }
  const attempted = { ...intent, payment_method: method.id, ...unpaid }
  const { outcome } = method
  if (outcome.kind === 'authenticate') {
    return canAuthenticate
      ? { ...attempted, status: 'requires_action', next_action: threeDSecure() }
      : declineIntent(attempted, method, authenticationRequired)
  }
  const charged = { ...attempted, latest_charge: newId('ch') }
  return outcome.kind === 'decline'
    ? declineIntent(charged, method, outcome)
    : authorizeIntent(charged)
}

function authorizeIntent(intent: PaymentIntent): PaymentIntent {
  return intent.capture_method === 'manual'
    ? { ...intent, status: 'requires_capture', amount_capturable: intent.amount }
    : { ...intent, status: 'succeeded', amount_received: intent.amount }
}

function threeDSecure(): Stripe.PaymentIntent.NextAction {
  return { type: 'use_stripe_sdk', use_stripe_sdk: { type: 'three_d_secure_redirect' } }
}

/**
 * Applies the result of 3-D Secure. After a failure, or when the bank declines afterwards, the
 * intent waits for another method.
 */
export function authenticateIntent(
  intent: PaymentIntent,
  method: UsedMethod | undefined,
  outcome: 'succeed' | 'fail',
): PaymentIntent {
  const withoutAction = { ...intent, next_action: null }
  if (outcome === 'succeed') {
    const charged = { ...withoutAction, latest_charge: newId('ch') }
    return method?.outcome.kind === 'authenticate' && method.outcome.afterwards !== undefined
      ? declineIntent(charged, method, method.outcome.afterwards)
      : authorizeIntent(charged)
  }
  return failIntent(withoutAction, {
    type: 'invalid_request_error',
    code: 'payment_intent_authentication_failure',
    message:
      'The provided PaymentMethod has failed authentication. You can provide payment_method_data ' +
      'or a new PaymentMethod to attempt to fulfill this PaymentIntent again.',
    ...(method && { payment_method: method.saved }),
  })
}

/** A declined intent still names the failed charge. */
function declineIntent(
  intent: PaymentIntent,
  { saved }: UsedMethod,
  decline: Decline,
): PaymentIntent {
  return failIntent(intent, {
    type: 'card_error',
    code: decline.code,
    ...(decline.declineCode && { decline_code: decline.declineCode }),
    message: decline.message,
    ...(intent.latest_charge && { charge: intent.latest_charge }),
    payment_method: saved,
  })
}

/** It waits for another payment method. */
function failIntent(intent: PaymentIntent, last_payment_error: PaymentError): PaymentIntent {
  const status = 'requires_payment_method'
  return { ...intent, status, payment_method: null, last_payment_error }
}

/** Raises the authorised amount to a new total. */
export function incrementIntent(intent: PaymentIntent, amount: number): PaymentIntent {
  return { ...intent, amount, amount_capturable: amount }
}

/** Captures an authorised amount, in full or in part, and releases the rest. */
export function captureIntent(intent: PaymentIntent, amount: number): PaymentIntent {
  return { ...intent, status: 'succeeded', amount_capturable: 0, amount_received: amount }
}

/** Cancels an intent at the given second, and releases the authorised amount. */
export function cancelIntent(
  intent: PaymentIntent,
  reason: string | undefined,
  now: number,
): PaymentIntent {
  return {
    ...intent,
    status: 'canceled',
    amount_capturable: 0,
    next_action: null,
    canceled_at: now,
    cancellation_reason: reason ?? null,
  }
}
