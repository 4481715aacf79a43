// Makes a payment method as the API shows it (https://docs.stripe.com/api/payment_methods/object).
import type Stripe from 'stripe'

/** A card that is attached to no customer, made at the given second. */
export function cardMethod(id: string, created: number) {
  return {
    id,
    object: 'payment_method',
    allow_redisplay: 'unspecified',
    billing_details: { address: null, email: null, name: null, phone: null, tax_id: null },
    created,
    customer: null,
    customer_account: null,
    livemode: false,
    metadata: {},
    type: 'card',
  } as const satisfies Stripe.PaymentMethod
}
