// Calls of the Stripe adapter for tests: payments, identities, and an adapter for any server.
import type { Payment } from '../../../src/domain/payments/payment.ts'
import type { PaymentProvider } from '../../../src/provider/payment-provider.ts'
import { createStripeProvider } from '../../../src/provider/stripe/stripe-provider.ts'
import { authorize, capture } from '../contract/calls.ts'
import { newPayment } from '../contract/payments.ts'

export { identityOf, refundOf, criteriaOf } from '../contract/payments.ts'

export const SECRET_KEY = 'sk_test_51VerySecretIndeed'

/** Longer than a normal answer takes on a busy machine. */
const HOLD_BACK_MS = 10_000

export function paymentOf(fields: Partial<Payment> = {}): Payment {
  return newPayment({ provider: 'stripe', paymentMethod: 'pm_card_visa', ...fields })
}

export function adapterFor(url: string, timeoutMs = HOLD_BACK_MS): PaymentProvider {
  return createStripeProvider({ secretKey: SECRET_KEY, apiBase: url, timeoutMs })
}

/** Authorizes a payment, and returns it as the next phase finds it. */
export async function authorized(
  adapter: PaymentProvider,
  fields: Partial<Payment> = {},
): Promise<Payment> {
  return await authorize(adapter, paymentOf(fields))
}

/** Authorizes and captures a payment, and returns it as a refund receives it. */
export async function captured(adapter: PaymentProvider): Promise<Payment> {
  return await capture(adapter, await authorized(adapter))
}
