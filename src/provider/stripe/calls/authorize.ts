// Holds the money of a payment, or starts its authentication. A lost call is found by the intent that it
// created.
import type Stripe from 'stripe'
import type { Outcome } from '../../../domain/operations/outcome.ts'
import { showPaymentId, type Payment } from '../../../domain/payments/payment.ts'
import { type CallDescription, unknown } from '../../call-outcomes.ts'
import type { Authorization, CallIdentity } from '../../calls.ts'
import {
  describeIntent,
  holdOf,
  type Intent,
  isAbout,
  MISMATCH,
  WITH_CHARGE,
  providerStatusOf,
} from '../answers.ts'
import type { Connection } from '../connection.ts'
import { pagesOf, type IsMatch } from '../lists/pages.ts'
import { type ReadSharedList, shareLists } from '../lists/shared-lists.ts'
import { findOne, type Explain } from '../matches.ts'
import { declinedBy, FOUND_MISMATCH, send, statusOf, type StripeCall } from './call.ts'

const WITH_CHARGES = { expand: WITH_CHARGE.expand.map((name) => `data.${name}`) }

/**
 * The tolerated difference between Stripe's clock, which dates intents, and ours, which dates
 * calls. It equals the tolerance of Stripe's own signatures.
 */
const CLOCK_SKEW_SECONDS = 300

/** A shared list of the intents that were created within a window. */
export function shareIntentLists(connection: Omit<Connection, 'readIntents'>): ReadSharedList {
  return shareLists(({ from: gte, to: lte }) =>
    pagesOf(connection, (page) =>
      connection.stripe.paymentIntents.list({ ...page, created: { gte, lte }, ...WITH_CHARGES }),
    ),
  )
}

export const authorize: StripeCall<'authorize'> = {
  writes: 'payment_intents',
  async execute(connection, { payment }, identity) {
    const parameters = parametersOf(payment, identity, connection.returnUrl)
    const about = {
      amount: payment.amountMinor,
      currency: payment.currency,
      payment_method: payment.paymentMethod,
    }
    const { paymentIntents } = connection.stripe
    return await send(connection, identity, CREATE, about, async (asked, options) =>
      confirm(payment, await paymentIntents.create(parameters, options), asked),
    )
  },
  async find(connection, { payment }, criteria) {
    const within = {
      from: Math.floor(criteria.executedFrom.getTime() / 1_000) - CLOCK_SKEW_SECONDS,
      to: Math.ceil(criteria.executedTo.getTime() / 1_000) + CLOCK_SKEW_SECONDS,
    }
    const search = {
      resource: 'payment_intents',
      names: { atomic_operation: criteria.operationId, atomic_payment: showPaymentId(payment.id) },
      id: criteria.providerPaymentId,
      retrieve: (id: string) => connection.stripe.paymentIntents.retrieve(id, WITH_CHARGE),
      list: async (isMatch: IsMatch) => {
        const { within: listed, ...reading } = await connection.readIntents(within, isMatch)
        return { ...reading, filters: { created_from: listed.from, created_to: listed.to } }
      },
    } as const
    return await findOne(connection, search, explainFound(payment))
  },
}

const CREATE = 'payment_intents.create'

function confirm(payment: Payment, intent: Intent, asked: CallDescription): Outcome<Authorization> {
  const answered = describeIntent(intent)
  if (isAbout(payment, intent)) {
    const { id: providerPaymentId, status, client_secret: clientSecret } = intent
    if (status === 'requires_capture' && intent.amount_capturable === payment.amountMinor) {
      const value = { status: 'held', providerPaymentId, ...holdOf(intent) } as const
      return { outcome: 'done', value, asked, answered }
    }
    if (status === 'requires_action' && isClientSecret(clientSecret)) {
      const value = { status: 'requires_action', providerPaymentId, clientSecret } as const
      return { outcome: 'done', value, asked, answered }
    }
  }
  return unknown(asked, answered, MISMATCH)
}

function isClientSecret(value: unknown): value is string {
  return typeof value === 'string' && /^\w{8,500}$/.test(value)
}

function explainFound(payment: Payment): Explain<Authorization> {
  return (object, asked, listed) => {
    const intent = object as unknown as Intent
    const answered = { ...describeIntent(intent), ...listed }
    const confirmed = confirm(payment, intent, asked)
    if (confirmed.outcome === 'done') return { ...confirmed, answered }
    if (!isAbout(payment, intent)) return unknown(asked, answered, FOUND_MISMATCH)
    const providerStatus = providerStatusOf(intent)
    if (providerStatus?.status === 'refused')
      return declinedBy(intent, providerStatus.failure, asked, answered)
    if (providerStatus?.status === 'canceled') {
      return declinedBy(intent, AUTHORIZATION_CANCELED, asked, answered)
    }
    // Only this service captures its authorizations, and only after it knows of them.
    return unknown(asked, answered, `the authorization exists, but it is ${statusOf(intent)}`)
  }
}

const AUTHORIZATION_CANCELED = {
  code: 'canceled',
  declineCode: null,
  message: 'The authorization was canceled at the provider.',
}

/**
 * Since 2023-08-16 Stripe demands a `return_url` when it confirms with dynamic payment methods. Whether a
 * list of allowed types lifts that is not documented, so it is always sent.
 *
 * @see https://docs.stripe.com/api/payment_intents/create
 */
function parametersOf(
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
