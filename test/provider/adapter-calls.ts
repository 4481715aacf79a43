// Calls of the Stripe adapter for tests: payments, identities, and an adapter for any server.
import { randomUUID } from 'node:crypto'
import type { Payment } from '../../src/domain/payment.ts'
import type { CallIdentity, PaymentProvider } from '../../src/provider/payment-provider.ts'
import { createStripeProvider } from '../../src/provider/stripe-provider.ts'

export const SECRET_KEY = 'sk_test_51VerySecretIndeed'

/** Longer than an honest answer takes on a busy machine. */
const PATIENCE_MS = 10_000
export function paymentOf(fields: Partial<Payment> = {}): Payment {
  return {
    tenantId: randomUUID(),
    id: randomUUID(),
    amountMinor: 1999,
    amountCapturedMinor: 0,
    amountRefundedMinor: 0,
    amountRefundingMinor: 0,
    currency: 'eur',
    status: 'processing',
    previousStatus: null,
    captureMethod: 'automatic',
    paymentMethod: 'pm_card_visa',
    customer: null,
    description: null,
    metadata: {},
    failure: null,
    provider: 'stripe',
    providerPaymentId: null,
    clientSecret: null,
    createdAt: new Date(0),
    ...fields,
  }
}

export function identityOf(phase: string): CallIdentity {
  return { providerKey: `atomic_${randomUUID()}_${phase}`, operationId: randomUUID() }
}

export function adapterFor(url: string, timeoutMs = PATIENCE_MS): PaymentProvider {
  return createStripeProvider({ secretKey: SECRET_KEY, apiBase: url, timeoutMs })
}

/** Authorizes a payment, and returns it as the next phase finds it. */
export async function authorized(adapter: PaymentProvider): Promise<Payment> {
  const payment = paymentOf()
  const outcome = await adapter.authorize(payment, identityOf('started'))
  if (outcome.outcome !== 'done') throw new Error(`not authorized: ${JSON.stringify(outcome)}`)
  return { ...payment, providerPaymentId: outcome.value.providerPaymentId }
}

/** Both calls of the port, each on a payment that is ready for it. */
export const calls = {
  authorize: {
    kind: 'payment_intent.create',
    path: '/v1/payment_intents',
    ready: async () => paymentOf(),
  },
  capture: {
    kind: 'payment_intent.capture',
    path: '/v1/payment_intents/*/capture',
    ready: authorized,
  },
} as const
export const callNames = ['authorize', 'capture'] as const
