// The calls that move money at Stripe, under the provider key of their operation.
import type Stripe from 'stripe'
import type { Outcome } from '../../domain/operations/outcome.ts'
import {
  type Cancellation,
  type Hold,
  type Payment,
  showPaymentId,
} from '../../domain/payments/payment.ts'
import { type RefundStanding, showRefundId, type Refund } from '../../domain/payments/refund.ts'
import type { Authorization, CallIdentity, CallRequest, Capture } from '../payment-provider.ts'
import { providerPaymentIdOf } from '../call-outcomes.ts'
import {
  confirmAdjustment,
  confirmAuthorization,
  confirmCancel,
  confirmCapture,
  describeIntent,
  explainRefusedAdjustment,
  explainRefusedCancel,
  explainRefusedCapture,
  WITH_CHARGE,
} from './answers.ts'
import { toOutcome, type Connection } from './connection.ts'
import { confirmRefund } from './refund-standing.ts'

export async function authorizePayment(
  connection: Connection,
  payment: Payment,
  identity: CallIdentity,
): Promise<Outcome<Authorization>> {
  const parameters = authorizationParameters(payment, identity, connection.returnUrl)
  const asked = {
    call: 'payment_intents.create',
    provider_key: identity.providerKey,
    amount: payment.amountMinor,
    currency: payment.currency,
    payment_method: payment.paymentMethod,
  }
  return await toOutcome(until(identity, connection), asked, async () => {
    const intent = await connection.stripe.paymentIntents.create(parameters, under(identity))
    return confirmAuthorization(payment, intent, asked)
  })
}

export async function capturePayment(
  connection: Connection,
  { payment, amountMinor = payment.amountMinor }: CallRequest<'capture'>,
  identity: CallIdentity,
): Promise<Outcome<Capture>> {
  const id = providerPaymentIdOf(payment)
  const parameters = { amount_to_capture: amountMinor }
  const asked = {
    call: 'payment_intents.capture',
    provider_key: identity.providerKey,
    payment_id: id,
    amount: amountMinor,
  }
  return await toOutcome(until(identity, connection), asked, async () => {
    try {
      const intent = await connection.stripe.paymentIntents.capture(id, parameters, under(identity))
      return confirmCapture(payment, amountMinor, intent, describeIntent(intent), asked)
    } catch (error) {
      return explainRefusedCapture(payment, amountMinor, error, asked)
    }
  })
}

/** @see https://docs.stripe.com/api/payment_intents/increment_authorization */
export async function adjustAuthorization(
  connection: Connection,
  { payment, amountMinor }: CallRequest<'adjust'>,
  identity: CallIdentity,
): Promise<Outcome<Hold>> {
  const id = providerPaymentIdOf(payment)
  const asked = {
    call: 'payment_intents.increment_authorization',
    provider_key: identity.providerKey,
    payment_id: id,
    amount: amountMinor,
  }
  return await toOutcome(until(identity, connection), asked, async () => {
    const { paymentIntents } = connection.stripe
    const parameters = { amount: amountMinor, ...WITH_CHARGE }
    try {
      const intent = await paymentIntents.incrementAuthorization(id, parameters, under(identity))
      return confirmAdjustment(payment, amountMinor, intent, asked)
    } catch (error) {
      return explainRefusedAdjustment(payment, error, asked)
    }
  })
}

export async function cancelPayment(
  connection: Connection,
  { payment, reason = null }: CallRequest<'cancel'>,
  identity: CallIdentity,
): Promise<Outcome<Cancellation>> {
  const id = providerPaymentIdOf(payment)
  const parameters = reason === null ? {} : { cancellation_reason: reason }
  const asked = {
    call: 'payment_intents.cancel',
    provider_key: identity.providerKey,
    payment_id: id,
  }
  return await toOutcome(until(identity, connection), asked, async () => {
    try {
      const intent = await connection.stripe.paymentIntents.cancel(id, parameters, under(identity))
      return confirmCancel(payment, intent, describeIntent(intent), asked)
    } catch (error) {
      return explainRefusedCancel(payment, error, asked)
    }
  })
}

export async function refundPayment(
  connection: Connection,
  { payment, refund }: CallRequest<'refund'>,
  identity: CallIdentity,
): Promise<Outcome<RefundStanding>> {
  const parameters = refundParameters(payment, refund, identity)
  const asked = {
    call: 'refunds.create',
    provider_key: identity.providerKey,
    payment_id: providerPaymentIdOf(payment),
    amount: refund.amountMinor,
  }
  return await toOutcome(until(identity, connection), asked, async () => {
    const answered = await connection.stripe.refunds.create(parameters, under(identity))
    return confirmRefund(refund, answered, asked)
  })
}

/** The connection, which sends nothing after the lease of the caller. */
const until = ({ sendBeforeMs }: CallIdentity, connection: Connection): Connection => ({
  ...connection,
  sendBeforeMs,
})

function under({ providerKey }: CallIdentity): Stripe.RequestOptions {
  return { idempotencyKey: providerKey }
}

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
function authorizationParameters(
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
