// Payments, refunds and identities of calls, for the tests of every adapter.
import { randomUUID } from 'node:crypto'
import type { Payment } from '../../../src/domain/payments/payment.ts'
import type { Refund } from '../../../src/domain/payments/refund.ts'
import type { CallIdentity, LookupCriteria } from '../../../src/provider/calls.ts'

/** A payment that no provider knows yet. */
export function newPayment(
  fields: Pick<Payment, 'provider' | 'paymentMethod'> & Partial<Payment>,
): Payment {
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
    customer: null,
    description: null,
    reference: null,
    metadata: {},
    failure: null,
    cancellationReason: null,
    captureBefore: null,
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

/** The criteria of a call that was made at this time, in milliseconds since 1970. */
export function criteriaOf(
  { operationId }: CallIdentity,
  calledMs: number,
  fields: Partial<LookupCriteria> = {},
): LookupCriteria {
  const executedFrom = new Date(calledMs)
  const unnamed = { providerPaymentId: null, providerRefundId: null }
  return { operationId, executedFrom, executedTo: executedFrom, ...unnamed, ...fields }
}
