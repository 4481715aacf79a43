// Shows the charge of an intent (https://docs.stripe.com/api/charges/object). Charges are not stored:
// their members follow from the intent, its refunds and its disputes.
import type Stripe from 'stripe'
import type { Records } from '../storage.ts'
import type { PaymentIntent } from './payment-intent.ts'

/** Members that the stand-in never sets. They exist because clients may read them. */
const UNUSED_MEMBERS = {
  application: null,
  application_fee: null,
  application_fee_amount: null,
  balance_transaction: null,
  billing_details: { address: null, email: null, name: null, phone: null, tax_id: null },
  calculated_statement_descriptor: null,
  failure_balance_transaction: null,
  fraud_details: null,
  on_behalf_of: null,
  outcome: null,
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
  brand: null,
  checks: null,
  country: null,
  electronic_commerce_indicator: null,
  exp_month: 12,
  exp_year: 2034,
  funding: null,
  installments: null,
  last4: null,
  mandate: null,
  network: null,
  network_transaction_id: null,
  regulated_status: null,
  three_d_secure: null,
  transaction_link_id: null,
  wallet: null,
}

/**
 * Returns the charge of an intent. Amounts in minor units. What a cancellation or a partial capture
 * released counts as refunded.
 *
 * @param captureBefore when its hold ends, in seconds since 1970.
 */
export function chargeOf(
  intent: PaymentIntent,
  objects: Records['objects'],
  captureBefore?: number,
): Stripe.Charge {
  const { latest_charge, amount, amount_received, last_payment_error: error } = intent
  const id = String(latest_charge)
  const isReleased = intent.status === 'canceled' && error === null
  const amountRefunded = isReleased ? amount : objects.refundedAmount(intent.id)
  return {
    id,
    object: 'charge',
    ...UNUSED_MEMBERS,
    amount,
    amount_captured: amount_received,
    amount_refunded: amountRefunded,
    captured: amount_received > 0,
    created: intent.created,
    currency: intent.currency,
    customer: intent.customer,
    description: intent.description,
    disputed: objects.list('dispute', { ...ONE, filters: { charge: id } }).data.length > 0,
    failure_code: error?.code ?? null,
    failure_message: error?.message ?? null,
    livemode: false,
    metadata: intent.metadata,
    paid: error === null,
    payment_intent: intent.id,
    payment_method: intent.payment_method,
    payment_method_details: {
      type: 'card',
      card: {
        ...UNUSED_CARD_MEMBERS,
        amount_authorized: amount,
        ...(captureBefore === undefined ? {} : { capture_before: captureBefore }),
      },
    },
    refunded: amountRefunded === amount,
    status: error === null ? 'succeeded' : 'failed',
  } satisfies Stripe.Charge
}

const ONE = { limit: 1, createdFrom: 0, createdTo: Number.MAX_SAFE_INTEGER, cursor: undefined }
