// The payment provider Stripe, called with Stripe's official package. Each call returns the request
// that it sent, and ends within the time limit.
import Stripe from 'stripe'
import type { Done, NotExecuted, Outcome } from '../../domain/operations/outcome.ts'
import type { Cancellation, Payment } from '../../domain/payments/payment.ts'
import type { Refund } from '../../domain/payments/refund.ts'
import type { RefundStanding } from '../../domain/payments/refund-standing.ts'
import type { Standing } from '../../domain/payments/standing.ts'
import type {
  Authorization,
  CallIdentity,
  CallRequest,
  Capture,
  PaymentProvider,
} from '../payment-provider.ts'
import {
  confirmAdjustment,
  confirmAuthorization,
  confirmCancel,
  confirmCapture,
  describeIntent,
  explainRefusedAdjustment,
  explainRefusedCancel,
  explainRefusedCapture,
} from './answers.ts'
import { providerPaymentIdOf, toOutcome, type Connection } from './connection.ts'
import { createStripeHttpClient } from './http-client.ts'
import { readAccount } from './account.ts'
import { listMovements, listPayments, listRefunds, readPayment, readRefund } from './records.ts'
import { authorizationParameters, refundParameters } from './parameters.ts'
import { findAdjustment, findAuthorization, findCancel, findCapture } from './payment-traces.ts'
import { confirmRefund } from './refund-standing.ts'
import { findRefund } from './refund-traces.ts'
import { asLook, confirmStanding } from './standing.ts'

export interface StripeOptions {
  readonly secretKey: string
  /** Another server with Stripe's API, such as http://127.0.0.1:3100. */
  readonly apiBase?: string | undefined
  /** The time limit of a whole call, in milliseconds. After that its outcome is unknown. */
  readonly timeoutMs: number
}

export function createStripeProvider(options: StripeOptions): PaymentProvider {
  const stripe = new Stripe(options.secretKey, stripeConfig(options))
  const connection = { stripe, timeoutMs: options.timeoutMs }
  return {
    name: 'stripe',
    calls: {
      authorize: {
        execute: (request, identity) => authorizePayment(connection, request.payment, identity),
        find: (request, trace) => findAuthorization(connection, request.payment, trace),
      },
      capture: {
        execute: (request, identity) => capturePayment(connection, request, identity),
        find: ({ payment, amountMinor = payment.amountMinor }) =>
          findCapture(connection, payment, amountMinor),
      },
      adjust: {
        execute: (request, identity) => adjustAuthorization(connection, request, identity),
        find: (request) => findAdjustment(connection, request),
      },
      cancel: {
        execute: (request, identity) => cancelPayment(connection, request, identity),
        find: ({ payment }) => findCancel(connection, payment),
      },
      refund: {
        execute: (request, identity) => refundPayment(connection, request, identity),
        find: ({ payment, refund }, trace) => findRefund(connection, payment, refund, trace),
      },
    },
    readAccount: () => readAccount(connection, options.secretKey),
    retrieve: (payment) => retrievePayment(connection, payment),
    retrieveRefund: (refund) => retrieveRefund(connection, refund),
    listPayments: (...asked) => listPayments(connection, ...asked),
    listRefunds: (...asked) => listRefunds(connection, ...asked),
    listMovements: (...asked) => listMovements(connection, ...asked),
    readPayment: (id) => readPayment(connection, id),
    readRefund: (id) => readRefund(connection, id),
  }
}

async function authorizePayment(
  connection: Connection,
  payment: Payment,
  identity: CallIdentity,
): Promise<Outcome<Authorization>> {
  const parameters = authorizationParameters(payment, identity)
  const asked = {
    call: 'payment_intents.create',
    provider_key: identity.providerKey,
    amount: payment.amountMinor,
    currency: payment.currency,
    payment_method: payment.paymentMethod,
  }
  return await toOutcome(connection, asked, async () => {
    const intent = await connection.stripe.paymentIntents.create(parameters, under(identity))
    return confirmAuthorization(payment, intent, asked)
  })
}

async function capturePayment(
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
  return await toOutcome(connection, asked, async () => {
    try {
      const intent = await connection.stripe.paymentIntents.capture(id, parameters, under(identity))
      return confirmCapture(payment, amountMinor, intent, describeIntent(intent), asked)
    } catch (error) {
      return explainRefusedCapture(payment, amountMinor, error, asked)
    }
  })
}

/** @see https://docs.stripe.com/api/payment_intents/increment_authorization */
async function adjustAuthorization(
  connection: Connection,
  { payment, amountMinor }: CallRequest<'adjust'>,
  identity: CallIdentity,
): Promise<Outcome<null>> {
  const id = providerPaymentIdOf(payment)
  const asked = {
    call: 'payment_intents.increment_authorization',
    provider_key: identity.providerKey,
    payment_id: id,
    amount: amountMinor,
  }
  return await toOutcome(connection, asked, async () => {
    const { paymentIntents } = connection.stripe
    const parameters = { amount: amountMinor }
    try {
      const intent = await paymentIntents.incrementAuthorization(id, parameters, under(identity))
      return confirmAdjustment(payment, amountMinor, intent, asked)
    } catch (error) {
      return explainRefusedAdjustment(payment, error, asked)
    }
  })
}

async function cancelPayment(
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
  return await toOutcome(connection, asked, async () => {
    try {
      const intent = await connection.stripe.paymentIntents.cancel(id, parameters, under(identity))
      return confirmCancel(payment, intent, describeIntent(intent), asked)
    } catch (error) {
      return explainRefusedCancel(payment, error, asked)
    }
  })
}

async function refundPayment(
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
  return await toOutcome(connection, asked, async () => {
    const answered = await connection.stripe.refunds.create(parameters, under(identity))
    return confirmRefund(refund, answered, asked)
  })
}

async function retrievePayment(
  connection: Connection,
  payment: Payment,
): Promise<Done<Standing> | NotExecuted> {
  const id = providerPaymentIdOf(payment)
  const asked = { call: 'payment_intents.retrieve', payment_id: id }
  const looked = await toOutcome(connection, asked, async () =>
    confirmStanding(payment, await connection.stripe.paymentIntents.retrieve(id), asked),
  )
  return asLook(looked)
}

function under({ providerKey }: CallIdentity): Stripe.RequestOptions {
  return { idempotencyKey: providerKey }
}

function stripeConfig({ apiBase, timeoutMs }: StripeOptions): Stripe.StripeConfig {
  const base = new URL(apiBase ?? 'https://api.stripe.com')
  const protocol = base.protocol === 'http:' ? 'http' : 'https'
  return {
    protocol,
    // A URL writes an IPv6 address in brackets, a connection does not.
    host: base.hostname.replaceAll(/[[\]]/g, ''),
    port: base.port || (protocol === 'http' ? 80 : 443),
    timeout: timeoutMs,
    // Only the engine retries, with its own provider key.
    maxNetworkRetries: 0,
    httpClient: createStripeHttpClient(protocol),
    telemetry: false,
    appInfo: { name: 'atomic-payments' },
  }
}

async function retrieveRefund(
  connection: Connection,
  refund: Refund,
): Promise<Done<RefundStanding> | NotExecuted> {
  const { providerRefundId: id } = refund
  if (id === null) throw new Error(`refund ${refund.id} has no id at the provider`)
  const asked = { call: 'refunds.retrieve', refund_id: id }
  const looked = await toOutcome(connection, asked, async () =>
    confirmRefund(refund, await connection.stripe.refunds.retrieve(id), asked),
  )
  return asLook(looked)
}
