// The calls that move money at Stripe, under the provider key of their operation.
import type Stripe from 'stripe'
import type { Outcome } from '../../domain/operations/outcome.ts'
import type { Cancellation, Hold, Payment } from '../../domain/payments/payment.ts'
import type { RefundStanding } from '../../domain/payments/refund-standing.ts'
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
import { authorizationParameters, refundParameters } from './parameters.ts'
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
