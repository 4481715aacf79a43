// Finds the outcome of a call whose answer was lost: of a call on a payment by the intent that it created, or by
// the state of the intent that it changed; of a refund by the refund that it created.
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
import type { Connection } from './connection.ts'
import { UNEXPECTED_STATE } from './errors.ts'
import { pagesOf, type IsMatch, readMatches, type ListReading } from './lists/pages.ts'
import { findOne, unclear, type Explain } from './matches.ts'
import { standingOf } from './standing.ts'
import { showRefundId, type Refund, type RefundStanding } from '../../domain/payments/refund.ts'
import { confirmRefund } from './refund-standing.ts'
import type { Json } from '../json.ts'

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

export async function findRefund(
  connection: Connection,
  payment: Payment,
  refund: Refund,
  trace: Trace,
): Promise<Outcome<RefundStanding>> {
  const { refunds } = connection.stripe
  const paymentId = providerPaymentIdOf(payment)
  const search = {
    resource: 'refunds',
    names: { atomic_operation: trace.operationId, atomic_refund: showRefundId(refund.id) },
    id: trace.providerRefundId,
    retrieve: (id: string) => refunds.retrieve(id),
    list: async (isMatch: IsMatch) => {
      const list = (page: object) => refunds.list({ ...page, payment_intent: paymentId })
      const [reading] = await readMatches(pagesOf(connection, list), [isMatch])
      return { ...reading, filters: { payment_id: paymentId } }
    },
  } as const
  return await findOne(connection, search, explainRefund(refund))
}

function explainRefund(refund: Refund): Explain<RefundStanding> {
  return (object, asked, listed) => {
    const found = object as unknown as Stripe.Response<Stripe.Refund>
    const confirmed = confirmRefund(refund, found, asked)
    return { ...confirmed, answered: { ...confirmed.answered, ...listed } }
  }
}

// Shares lists among look-ups: one list serves all look-ups that begin within a moment of each
// other and whose windows nearly agree, because Stripe limits reads. A list begins after the look-ups
// that it serves, never before: it proves to each of them what a list of its own would.

/** By the time of creation, in seconds since 1970. Both ends are included. */
export interface CreatedWithin {
  readonly from: number
  readonly to: number
}

/** Reads a list that covers the window. `within` is the window that was listed. */
type ReadSharedList = (
  within: CreatedWithin,
  isMatch: IsMatch,
) => Promise<ListReading & { readonly within: CreatedWithin }>

/** How long a look-up waits for others. It is short compared with the time of a request. */
const GATHER_MS = 50

interface LookUp {
  readonly within: CreatedWithin
  readonly isMatch: IsMatch
  readonly resolve: (reading: Awaited<ReturnType<ReadSharedList>>) => void
}

/** @param pagesWithin the pages of a list, which throw if it cannot be read to its end. */
export function shareLists(
  pagesWithin: (within: CreatedWithin) => AsyncIterable<readonly Json[]>,
): ReadSharedList {
  let gathering: LookUp[] = []
  const readGathered = () => {
    const gathered = gathering
    gathering = []
    for (const { within, lookUps } of groupOverlapping(gathered)) {
      const matchers = lookUps.map(({ isMatch }) => isMatch)
      void readMatches(pagesWithin(within), matchers).then((readings) =>
        readings.forEach((reading, index) => lookUps[index]?.resolve({ ...reading, within })),
      )
    }
  }
  return (within, isMatch) =>
    new Promise((resolve) => {
      gathering.push({ within, isMatch, resolve })
      if (gathering.length === 1) setTimeout(readGathered, GATHER_MS)
    })
}

interface Group {
  readonly within: CreatedWithin
  readonly lookUps: readonly LookUp[]
}

/**
 * The most by which sharing may lengthen the window of a look-up, in seconds: one that covers a whole
 * day must not make the short ones wait for its pages.
 */
const LONGER_BY_MOST = 60 * 60

/** Windows far apart stay apart: one list of both would read all that lies between them. */
function groupOverlapping(lookUps: readonly LookUp[]): Group[] {
  const groups: Group[] = []
  for (const lookUp of lookUps.toSorted((one, other) => one.within.from - other.within.from)) {
    const index = groups.findIndex((group) => fitsInto(group, lookUp))
    const group = groups[index]
    if (group === undefined) {
      groups.push({ within: lookUp.within, lookUps: [lookUp] })
    } else {
      groups[index] = { within: unionOf(group, lookUp), lookUps: [...group.lookUps, lookUp] }
    }
  }
  return groups
}

function fitsInto(group: Group, lookUp: LookUp): boolean {
  const lengths = [lookUp, ...group.lookUps].map(({ within }) => within.to - within.from)
  const { from, to } = unionOf(group, lookUp)
  return lookUp.within.from <= group.within.to && to - from <= Math.min(...lengths) + LONGER_BY_MOST
}

/** The windows of a group begin in order. */
function unionOf(group: Group, { within }: LookUp): CreatedWithin {
  return { from: group.within.from, to: Math.max(group.within.to, within.to) }
}
