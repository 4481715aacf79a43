// Calls of the Stripe adapter for tests: payments, identities, and an adapter for any server.
import type { Payment } from '../../../src/domain/payments/payment.ts'
import type { PaymentProvider } from '../../../src/provider/payment-provider.ts'
import type { CallName } from '../../../src/provider/calls.ts'
import { createStripeProvider } from '../../../src/provider/stripe/stripe-provider.ts'
import { authorize, capture, portCalls } from '../contract/calls.ts'
import { newPayment } from '../contract/payments.ts'

export { callNames } from '../contract/calls.ts'
export { identityOf, refundOf, traceOf } from '../contract/payments.ts'

export const SECRET_KEY = 'sk_test_51VerySecretIndeed'

/** Longer than a normal answer takes on a busy machine. */
const PATIENCE_MS = 10_000

export function paymentOf(fields: Partial<Payment> = {}): Payment {
  return newPayment({ provider: 'stripe', paymentMethod: 'pm_card_visa', ...fields })
}

export function adapterFor(url: string, timeoutMs = PATIENCE_MS): PaymentProvider {
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

interface Call {
  /** Its name in the provider's log. */
  readonly kind: string
  /** In minor units, as the log has it. */
  readonly amount: number
  readonly path: string
  /** Creates a payment for which the call is possible. */
  readonly ready: (adapter: PaymentProvider) => Promise<Payment>
}

/** Every executing call of the port. */
export const calls = {
  authorize: {
    kind: 'payment_intent.create',
    amount: 1999,
    path: '/v1/payment_intents',
    ready: async () => paymentOf(),
    ...portCalls.authorize,
  },
  capture: {
    kind: 'payment_intent.capture',
    amount: 1999,
    path: '/v1/payment_intents/*/capture',
    ready: authorized,
    ...portCalls.capture,
  },
  adjust: {
    kind: 'payment_intent.increment_authorization',
    amount: 2499,
    path: '/v1/payment_intents/*/increment_authorization',
    ready: (adapter) => authorized(adapter, { captureMethod: 'manual' }),
    ...portCalls.adjust,
  },
  cancel: {
    kind: 'payment_intent.cancel',
    amount: 1999,
    path: '/v1/payment_intents/*/cancel',
    ready: authorized,
    ...portCalls.cancel,
  },
  refund: {
    kind: 'refund.create',
    amount: 1999,
    path: '/v1/refunds',
    ready: captured,
    ...portCalls.refund,
  },
} as const satisfies Record<CallName, Call>
