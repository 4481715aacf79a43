// What is sent to Stripe for each object that a call creates. Our ids are in its metadata, by which a lost call
// is found again.
import type Stripe from 'stripe'
import { showPaymentId, type Payment } from '../../domain/payments/payment.ts'
import { showRefundId, type Refund } from '../../domain/payments/refund.ts'
import type { CallIdentity } from '../payment-provider.ts'
import { providerPaymentIdOf } from './connection.ts'

export function refundParameters(
  payment: Payment,
  refund: Refund,
  { operationId }: CallIdentity,
): Stripe.RefundCreateParams {
  return {
    payment_intent: providerPaymentIdOf(payment),
    amount: refund.amountMinor,
    ...(refund.reason === null ? {} : { reason: refund.reason }),
    metadata: {
      ...refund.metadata,
      atomic_tenant: payment.tenantId,
      atomic_payment: showPaymentId(payment.id),
      atomic_refund: showRefundId(refund.id),
      atomic_operation: operationId,
    },
  }
}

export function authorizationParameters(
  payment: Payment,
  { operationId }: CallIdentity,
): Stripe.PaymentIntentCreateParams {
  return {
    amount: payment.amountMinor,
    currency: payment.currency,
    payment_method: payment.paymentMethod,
    allowed_payment_method_types: ['card'],
    // Always authorize first: a capture is a phase of its own.
    capture_method: 'manual',
    confirm: true,
    // Only a payment that waits for its capture can be adjusted.
    ...(payment.captureMethod === 'manual' && {
      payment_method_options: { card: { request_incremental_authorization: 'if_available' } },
    }),
    metadata: {
      ...payment.metadata,
      atomic_tenant: payment.tenantId,
      atomic_payment: showPaymentId(payment.id),
      atomic_operation: operationId,
    },
    ...(payment.customer === null ? {} : { customer: payment.customer }),
    ...(payment.description === null ? {} : { description: payment.description }),
  }
}
