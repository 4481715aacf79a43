// Finds the outcome of a call on a payment whose answer was lost: by the intent that the call created,
// or by the state of the intent that it changed.
import type Stripe from 'stripe'
import type { Declined, NotExecuted, Outcome } from '../../domain/operations/outcome.ts'
import {
  showPaymentId,
  type Cancellation,
  type Failure,
  type Hold,
  type Payment,
} from '../../domain/payments/payment.ts'
import type { Authorization, CallRequest, Capture, Trace } from '../payment-provider.ts'
import { fitTextOrNothing } from '../provider-text.ts'
import { type CallDescription, providerPaymentIdOf, unknown } from '../call-outcomes.ts'
import { withinTimeLimit } from '../time-limit.ts'
import {
  cancellationOf,
  confirmAdjustment,
  confirmAuthorization,
  confirmCancel,
  confirmCapture,
  describeIntent,
  isAbout,
  WITH_CHARGE,
} from './answers.ts'
import { type Connection } from './connection.ts'
import { UNEXPECTED_STATE } from './errors.ts'
import { pagesOf, type IsMatch } from './lists/pages.ts'
import { shareLists, type ReadSharedList } from './lists/shared-lists.ts'
import { findOne, unclear, type Explain } from './matches.ts'
import { standingOf } from './standing.ts'

type Intent = Stripe.Response<Stripe.PaymentIntent>

const WITH_CHARGES = { expand: WITH_CHARGE.expand.map((name) => `data.${name}`) }

/**
 * The tolerated difference between Stripe's clock, which dates intents, and ours, which dates
 * calls. It equals the tolerance of Stripe's own signatures.
 */
const CLOCK_SKEW_SECONDS = 300

/** A shared list of the intents that were created within a window. */
export function shareIntentLists(connection: Connection): ReadSharedList {
  return shareLists(({ from: gte, to: lte }) =>
    pagesOf(connection, (page) =>
      connection.stripe.paymentIntents.list({ ...page, created: { gte, lte }, ...WITH_CHARGES }),
    ),
  )
}

export async function findAuthorization(
  connection: Connection,
  readIntents: ReadSharedList,
  payment: Payment,
  trace: Trace,
): Promise<Outcome<Authorization>> {
  const within = {
    from: Math.floor(trace.executedFrom.getTime() / 1_000) - CLOCK_SKEW_SECONDS,
    to: Math.ceil(trace.executedTo.getTime() / 1_000) + CLOCK_SKEW_SECONDS,
  }
  const search = {
    resource: 'payment_intents',
    names: {
      atomic_operation: trace.operationId,
      atomic_payment: showPaymentId(payment.id),
    },
    id: trace.providerPaymentId,
    retrieve: (id: string) => connection.stripe.paymentIntents.retrieve(id, WITH_CHARGE),
    list: async (isMatch: IsMatch) => {
      const { within: listed, ...reading } = await readIntents(within, isMatch)
      return { ...reading, filters: { created_from: listed.from, created_to: listed.to } }
    },
  } as const
  return await findOne(connection, search, explainAuthorization(payment))
}

function explainAuthorization(payment: Payment): Explain<Authorization> {
  return (object, asked, listed) => {
    const intent = object as unknown as Intent
    const answered = { ...describeIntent(intent), ...listed }
    const confirmed = confirmAuthorization(payment, intent, asked)
    if (confirmed.outcome === 'done') return { ...confirmed, answered }
    if (!isAbout(payment, intent)) return unknown(asked, answered, MISMATCH)
    const standing = standingOf(intent)
    if (standing?.status === 'refused') return declined(intent, standing.failure, asked, answered)
    if (standing?.status === 'canceled') {
      return declined(intent, AUTHORIZATION_CANCELED, asked, answered)
    }
    // Only this service captures its authorizations, and only after it knows of them.
    return unknown(asked, answered, `the authorization exists, but it is ${show(intent)}`)
  }
}

export async function findCapture(
  connection: Connection,
  payment: Payment,
  amountMinor: number,
): Promise<Outcome<Capture>> {
  return await look(connection, payment, (intent, asked, answered) => {
    const confirmed = confirmCapture(payment, amountMinor, intent, answered, asked)
    if (confirmed.outcome === 'done') return confirmed
    const standing = standingOf(intent)?.status
    if (standing === 'held') return notExecuted('it is still held', asked, answered)
    if (standing === 'canceled') {
      const refused = declined(intent, PAYMENT_CANCELED, asked, answered)
      return { ...refused, canceled: cancellationOf(intent) }
    }
    const wrong = standing === 'captured' ? 'captured with another amount' : show(intent)
    return unknown(asked, answered, `the payment is ${wrong}`)
  })
}

/** The adjustment has happened if the new amount is held, and has not if the previous one is. */
export async function findAdjustment(
  connection: Connection,
  { payment, amountMinor }: CallRequest<'adjust'>,
): Promise<Outcome<Hold>> {
  const id = providerPaymentIdOf(payment)
  const asked = { call: 'payment_intents.retrieve', payment_id: id }
  try {
    const intent = await withinTimeLimit(connection, () =>
      connection.stripe.paymentIntents.retrieve(id, WITH_CHARGE),
    )
    const adjusted = confirmAdjustment(payment, amountMinor, intent, asked)
    if (adjusted.outcome === 'done') return adjusted
    const answered = describeIntent(intent)
    const standing =
      isAbout(payment, intent) && intent.id === id ? standingOf(intent)?.status : undefined
    if (standing === 'held') return notExecuted('the amount is as it was', asked, answered)
    if (standing === 'canceled') {
      const refused = declined(intent, ADJUSTED_AFTER_CANCEL, asked, answered)
      return { ...refused, canceled: cancellationOf(intent) }
    }
    return unknown(asked, answered, MISMATCH)
  } catch (error) {
    return unclear(error, asked)
  }
}

/** The statuses in which a payment of ours can still be canceled. */
const CANCELABLE = new Set(['requires_capture', 'requires_action', 'requires_payment_method'])

export async function findCancel(
  connection: Connection,
  payment: Payment,
): Promise<Outcome<Cancellation>> {
  return await look(connection, payment, (intent, asked, answered) => {
    const confirmed = confirmCancel(payment, intent, answered, asked)
    if (confirmed.outcome === 'done') return confirmed
    if (CANCELABLE.has(intent.status)) return notExecuted('it is not canceled', asked, answered)
    if (intent.status === 'succeeded') {
      return declined(intent, PAYMENT_CAPTURED, asked, answered)
    }
    return unknown(asked, answered, `the payment is ${show(intent)}`)
  })
}

/**
 * Retrieves the intent of a payment that the provider already knows, so its absence proves nothing.
 */
async function look<Value>(
  connection: Connection,
  payment: Payment,
  explain: (intent: Intent, asked: CallDescription, answered: CallDescription) => Outcome<Value>,
): Promise<Outcome<Value>> {
  const id = providerPaymentIdOf(payment)
  const asked = { call: 'payment_intents.retrieve', payment_id: id }
  const retrieve = () => connection.stripe.paymentIntents.retrieve(id, WITH_CHARGE)
  try {
    const intent = await withinTimeLimit(connection, retrieve)
    const answered = describeIntent(intent)
    const isIt = isAbout(payment, intent) && intent.id === id
    return isIt ? explain(intent, asked, answered) : unknown(asked, answered, MISMATCH)
  } catch (error) {
    return unclear(error, asked)
  }
}

const MISMATCH = 'the object that was found does not match the request'

const AUTHORIZATION_CANCELED: Failure = {
  code: 'canceled',
  declineCode: null,
  message: 'The authorization was canceled at the provider.',
}
/** Has the code with which Stripe refuses the same call. */
const PAYMENT_CANCELED: Failure = {
  code: UNEXPECTED_STATE,
  declineCode: null,
  message: 'The payment was canceled at the provider and cannot be captured.',
}
const ADJUSTED_AFTER_CANCEL: Failure = {
  code: UNEXPECTED_STATE,
  declineCode: null,
  message: 'The payment was canceled at the provider, and cannot be adjusted.',
}
const PAYMENT_CAPTURED: Failure = {
  code: UNEXPECTED_STATE,
  declineCode: null,
  message: 'The payment was captured at the provider and cannot be canceled.',
}

function declined(
  intent: Intent,
  failure: Failure,
  asked: CallDescription,
  answered: CallDescription,
): Declined {
  return { outcome: 'declined', failure, providerPaymentId: intent.id, asked, answered }
}

function notExecuted(
  reason: string,
  asked: CallDescription,
  answered: CallDescription,
): NotExecuted {
  return { outcome: 'not_executed', reason, asked, answered }
}

/** The status of the intent, which may be any value. */
function show({ status }: Intent): string {
  return fitTextOrNothing(status) ?? 'without a status'
}
