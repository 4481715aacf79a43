// Defines a payment method that the stand-in stores, and creates one of a test token
// (https://docs.stripe.com/api/payment_methods/object).
import { hash } from 'node:crypto'
import type Stripe from 'stripe'
import { newId } from '../ids.ts'
import { findPaymentMethod, type PaymentMethod } from '../payment-intents/payment-methods.ts'

export interface SavedMethod extends Stripe.PaymentMethod {
  card: Stripe.PaymentMethod.Card
  /** The customer to which it is attached. */
  customer: string | null
  /** Only the stand-in has these two: which test card it is, and whether it has paid unattached. */
  metadata: { test_card: string; used?: 'true' }
}

/** How a payment method behaves, with the id of what is stored. */
export interface UsedMethod extends PaymentMethod {
  saved: SavedMethod
}

/** A test token stands for a new payment method each time. */
export function newSavedMethod(token: string, nowMs: number): SavedMethod {
  return {
    id: newId('pm'),
    object: 'payment_method',
    allow_redisplay: 'unspecified',
    card: cardOfToken(token),
    billing_details: { address: null, email: null, name: null, phone: null, tax_id: null },
    created: Math.floor(nowMs / 1000),
    customer: null,
    customer_account: null,
    livemode: false,
    metadata: { test_card: token },
    type: 'card',
  }
}

/** Where the name differs from that of the brand. */
const DISPLAY_BRANDS: Readonly<Record<string, string>> = {
  amex: 'american_express',
  diners: 'diners_club',
  unionpay: 'union_pay',
}

/** A token names the brand and the funding of its card, unless it is a Visa or a credit card. */
export function cardOfToken(token: string): Stripe.PaymentMethod.Card {
  const { last4 = '4242', country = 'US' } = findPaymentMethod(token) ?? {}
  const [, brand = 'visa'] =
    /^pm_card_(mastercard|amex|discover|diners|jcb|unionpay)/.exec(token) ?? []
  const [, funding = 'credit'] = /_(debit|prepaid)$/.exec(token) ?? []
  return {
    brand,
    checks: { address_line1_check: null, address_postal_code_check: null, cvc_check: 'pass' },
    country,
    display_brand: DISPLAY_BRANDS[brand] ?? brand,
    exp_month: 12,
    exp_year: 2034,
    fingerprint: hash('sha256', `${brand} ${last4}`).slice(0, 16),
    funding,
    generated_from: null,
    last4,
    networks: { available: [brand], preferred: null },
    regulated_status: 'unregulated',
    three_d_secure_usage: { supported: !token.endsWith('threeDSecureNotSupported') },
    wallet: null,
  }
}
