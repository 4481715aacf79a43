// Shows the charge of an intent (https://docs.stripe.com/api/charges/object). Charges are not stored:
// their members follow from the intent, its refunds and its disputes.
import type Stripe from 'stripe'
import { cardOfToken } from '../customers/saved-method.ts'
import type { Records } from '../storage.ts'
import type { PaymentIntent } from './payment-intent.ts'

/** Members that the stand-in never sets. They exist because clients may read them. */
const UNUSED_MEMBERS = {
  application: null,
  application_fee: null,
  application_fee_amount: null,
  billing_details: { address: null, email: null, name: null, phone: null, tax_id: null },
  calculated_statement_descriptor: null,
  failure_balance_transaction: null,
  fraud_details: null,
  on_behalf_of: null,
  receipt_email: null,
  receipt_number: null,
  receipt_url: null,
  review: null,
  shipping: null,
  source: null,
  source_transfer: null,
  statement_descriptor: null,
  statement_descriptor_suffix: null,
  transfer_data: null,
  transfer_group: null,
}

const UNUSED_CARD_MEMBERS = {
  authorization_code: null,
  electronic_commerce_indicator: null,
  installments: null,
  mandate: null,
  network_transaction_id: null,
  regulated_status: 'unregulated',
  three_d_secure: null,
  transaction_link_id: null,
  wallet: null,
}

/**
 * Returns the charge of an intent. Amounts in minor units. What a cancellation or a partial capture
 * released counts as refunded.
 */
export function chargeOf(intent: PaymentIntent, { objects, holds }: Records): Stripe.Charge {
  const { latest_charge, amount, amount_received, last_payment_error: error } = intent
  const id = String(latest_charge)
  const method =
    error?.payment_method ?? objects.find('payment_method', intent.payment_method ?? '')
  const captureBefore = holds.captureBefore(intent.id)
  const isReleased = intent.status === 'canceled' && error === null
  const amountRefunded = isReleased ? amount : objects.refundedAmount(intent.id)
  return {
    id,
    object: 'charge',
    ...UNUSED_MEMBERS,
    amount,
    amount_captured: amount_received,
    amount_refunded: amountRefunded,
    balance_transaction: amount_received > 0 ? movementOf(id, objects) : null,
    captured: amount_received > 0,
    created: intent.created,
    currency: intent.currency,
    customer: intent.customer,
    description: intent.description,
    disputed: objects.list('dispute', { filters: { charge: id } }).data.length > 0,
    failure_code: error?.code ?? null,
    failure_message: error?.message ?? null,
    livemode: false,
    metadata: intent.metadata,
    outcome: outcomeOf(error),
    paid: error === null,
    payment_intent: intent.id,
    payment_method: method?.id ?? intent.payment_method,
    payment_method_details: {
      type: 'card',
      card: {
        ...UNUSED_CARD_MEMBERS,
        ...cardIn(method?.card ?? cardOfToken('pm_card_visa')),
        amount_authorized: amount,
        ...(captureBefore === undefined ? {} : { capture_before: captureBefore }),
      },
    },
    refunded: amountRefunded === amount,
    status: error === null ? 'succeeded' : 'failed',
  } satisfies Stripe.Charge
}

function movementOf(charge: string, objects: Records['objects']): string | null {
  const request = { filters: { source: charge, type: 'charge' } }
  return objects.list('balance_transaction', request).data[0]?.id ?? null
}

/** What a charge shows of its card. */
function cardIn(card: Stripe.PaymentMethod.Card) {
  const { brand, checks, country, exp_month, exp_year, fingerprint = null, funding, last4 } = card
  const face = { brand, network: brand, country, funding, last4, fingerprint }
  return { ...face, checks, exp_month, exp_year }
}

/** @see https://docs.stripe.com/declines */
function outcomeOf(error: PaymentIntent['last_payment_error']): Stripe.Charge.Outcome {
  const isApproved = error === null
  return {
    advice_code: null,
    network_advice_code: null,
    network_decline_code: null,
    network_status: isApproved ? 'approved_by_network' : 'declined_by_network',
    reason: isApproved ? null : (error.decline_code ?? error.code ?? null),
    risk_level: 'normal',
    risk_score: 20,
    seller_message: isApproved ? 'Payment complete.' : 'The bank declined the payment.',
    type: isApproved ? 'authorized' : 'issuer_declined',
  }
}
