// Calls of the Stripe adapter for tests: payments, identities, and an adapter for any server.
import { randomUUID } from 'node:crypto'
import type { Outcome } from '../../../src/domain/operations/outcome.ts'
import type { Payment } from '../../../src/domain/payments/payment.ts'
import type { Refund } from '../../../src/domain/payments/refund.ts'
import type {
  CallIdentity,
  CallName,
  PaymentProvider,
  Trace,
} from '../../../src/provider/payment-provider.ts'
import { createStripeProvider } from '../../../src/provider/stripe/stripe-provider.ts'

export const SECRET_KEY = 'sk_test_51VerySecretIndeed'

/** Longer than a normal answer takes on a busy machine. */
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
    reference: null,
    metadata: {},
    failure: null,
    cancellationReason: null,
    captureBefore: null,
    provider: 'stripe',
    providerPaymentId: null,
    clientSecret: null,
    createdAt: new Date(0),
    ...fields,
  }
}

/** The full refund of a payment; the same for every call. */
export function refundOf(payment: Payment, fields: Partial<Refund> = {}): Refund {
  return {
    tenantId: payment.tenantId,
    id: payment.id,
    paymentId: payment.id,
    amountMinor: payment.amountMinor,
    currency: payment.currency,
    status: 'processing',
    reason: null,
    reference: null,
    metadata: {},
    failure: null,
    providerRefundId: null,
    moved: false,
    createdAt: new Date(0),
    ...fields,
  }
}

export function identityOf(phase: string): CallIdentity {
  return {
    providerKey: `atomic_${randomUUID()}_${phase}`,
    operationId: randomUUID(),
    sendBeforeMs: Infinity,
  }
}

/** The trace of a call that was made at this time, in milliseconds since 1970. */
export function traceOf(
  { operationId }: CallIdentity,
  calledMs: number,
  fields: Partial<Trace> = {},
): Trace {
  const executedFrom = new Date(calledMs)
  const unnamed = { providerPaymentId: null, providerRefundId: null }
  return { operationId, executedFrom, executedTo: executedFrom, ...unnamed, ...fields }
}

export function adapterFor(url: string, timeoutMs = PATIENCE_MS): PaymentProvider {
  return createStripeProvider({ secretKey: SECRET_KEY, apiBase: url, timeoutMs })
}

/** Authorizes a payment, and returns it as the next phase finds it. */
export async function authorized(
  adapter: PaymentProvider,
  fields: Partial<Payment> = {},
): Promise<Payment> {
  const payment = paymentOf(fields)
  const outcome = await adapter.calls.authorize.execute({ payment }, identityOf('started'))
  if (outcome.outcome !== 'done') throw new Error(`not authorized: ${JSON.stringify(outcome)}`)
  return { ...payment, providerPaymentId: outcome.value.providerPaymentId }
}

/** Authorizes and captures a payment, and returns it as a refund receives it. */
export async function captured(adapter: PaymentProvider): Promise<Payment> {
  const payment = await authorized(adapter)
  const { amountMinor } = payment
  const outcome = await adapter.calls.capture.execute(
    { payment, amountMinor },
    identityOf('authorized'),
  )
  if (outcome.outcome !== 'done') throw new Error(`not captured: ${JSON.stringify(outcome)}`)
  return { ...payment, amountCapturedMinor: amountMinor }
}

interface Call {
  /** Its name in the provider's log. */
  readonly kind: string
  /** In minor units, as the log has it. */
  readonly amount: number
  readonly path: string
  /** Creates a payment for which the call is possible. */
  readonly ready: (adapter: PaymentProvider) => Promise<Payment>
  /** Makes the call, for the whole amount. */
  readonly make: (
    adapter: PaymentProvider,
    payment: Payment,
    identity: CallIdentity,
  ) => Promise<Outcome<unknown>>
  /** Looks up what the call did. */
  readonly find: (
    adapter: PaymentProvider,
    payment: Payment,
    trace: Trace,
  ) => Promise<Outcome<unknown>>
}

/** Every executing call of the port. */
export const calls = {
  authorize: {
    kind: 'payment_intent.create',
    amount: 1999,
    path: '/v1/payment_intents',
    ready: async () => paymentOf(),
    make: (adapter, payment, identity) => adapter.calls.authorize.execute({ payment }, identity),
    find: (adapter, payment, trace) => adapter.calls.authorize.find({ payment }, trace),
  },
  capture: {
    kind: 'payment_intent.capture',
    amount: 1999,
    path: '/v1/payment_intents/*/capture',
    ready: authorized,
    make: (adapter, payment, identity) =>
      adapter.calls.capture.execute({ payment, amountMinor: payment.amountMinor }, identity),
    find: (adapter, payment, trace) =>
      adapter.calls.capture.find({ payment, amountMinor: payment.amountMinor }, trace),
  },
  adjust: {
    kind: 'payment_intent.increment_authorization',
    amount: 2499,
    path: '/v1/payment_intents/*/increment_authorization',
    ready: (adapter) => authorized(adapter, { captureMethod: 'manual' }),
    make: (adapter, payment, identity) =>
      adapter.calls.adjust.execute({ payment, amountMinor: payment.amountMinor + 500 }, identity),
    find: (adapter, payment, trace) =>
      adapter.calls.adjust.find({ payment, amountMinor: payment.amountMinor + 500 }, trace),
  },
  cancel: {
    kind: 'payment_intent.cancel',
    amount: 1999,
    path: '/v1/payment_intents/*/cancel',
    ready: authorized,
    make: (adapter, payment, identity) =>
      adapter.calls.cancel.execute({ payment, reason: null }, identity),
    find: (adapter, payment, trace) => adapter.calls.cancel.find({ payment }, trace),
  },
  refund: {
    kind: 'refund.create',
    amount: 1999,
    path: '/v1/refunds',
    ready: captured,
    make: (adapter, payment, identity) =>
      adapter.calls.refund.execute({ payment, refund: refundOf(payment) }, identity),
    find: (adapter, payment, trace) =>
      adapter.calls.refund.find({ payment, refund: refundOf(payment) }, trace),
  },
} as const satisfies Record<CallName, Call>

export const callNames = Object.keys(calls) as CallName[]
