// The parameters of the calls that create an object at Stripe. The metadata contain our ids, so
// that the object of a lost call can be found.
import type Stripe from 'stripe'
import { showPaymentId, type Payment } from '../../domain/payments/payment.ts'
import { showRefundId, type Refund } from '../../domain/payments/refund.ts'
import type { CallIdentity } from '../payment-provider.ts'
import { providerPaymentIdOf } from '../call-outcomes.ts'
import { WITH_CHARGE } from './answers.ts'

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
      ...(refund.reference === null ? {} : { atomic_reference: refund.reference }),
    },
  }
}

/**
 * Since 2023-08-16 Stripe demands a `return_url` when it confirms with dynamic payment methods. Whether a
 * list of allowed types lifts that is not documented, so it is always sent.
 *
 * @see https://docs.stripe.com/api/payment_intents/create
 */
export function authorizationParameters(
  payment: Payment,
  { operationId }: CallIdentity,
  returnUrl: string,
): Stripe.PaymentIntentCreateParams {
  return {
    amount: payment.amountMinor,
    currency: payment.currency,
    payment_method: payment.paymentMethod,
    allowed_payment_method_types: ['card'],
    // Always only authorize: the capture is a separate phase.
    capture_method: 'manual',
    confirm: true,
    return_url: payment.returnUrl ?? returnUrl,
    // With it, Stripe's library lets a customer authenticate on the client's page, in spite of the URL.
    ...(payment.offSession === true ? { off_session: true } : { use_stripe_sdk: true }),
    ...WITH_CHARGE,
    // Only a payment that waits for its capture can be adjusted.
    ...(payment.captureMethod === 'manual' && {
      payment_method_options: { card: { request_incremental_authorization: 'if_available' } },
    }),
    metadata: {
      ...payment.metadata,
      atomic_tenant: payment.tenantId,
      atomic_payment: showPaymentId(payment.id),
      atomic_operation: operationId,
      ...(payment.reference === null ? {} : { atomic_reference: payment.reference }),
    },
    ...(payment.customer === null ? {} : { customer: payment.customer }),
    ...(payment.description === null ? {} : { description: payment.description }),
  }
}
