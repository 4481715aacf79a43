// Opens disputes and moves them on, and the early fraud warnings before them
// (https://docs.stripe.com/api/radar/early_fraud_warnings). At Stripe the bank of the cardholder does
// this; here a test card or a control route does it.
import type Stripe from 'stripe'
import { z } from 'zod'
import { newId } from '../ids.ts'
import { DISPUTE_FEE, movementOfDispute } from '../balance/balance-transaction.ts'
import type { PaymentIntent } from '../payment-intents/payment-intent.ts'
import type { EventCause } from '../webhooks/event.ts'
import { settleRefund } from '../refunds/settle-refund.ts'
import type { Records, Storage } from '../storage.ts'
import { refusedByState } from '../requests/stripe-errors.ts'
import { behaviorOf } from '../customers/saved-methods.ts'
import {
  disputeStatuses,
  isClosed,
  isInquiry,
  mayBecome,
  newDispute,
  type Dispute,
  type DisputeTerms,
} from './dispute.ts'

/** Opens a dispute of a captured intent. An inquiry moves no money. */
function openDispute(
  records: Records,
  cause: EventCause,
  intent: PaymentIntent,
  terms: DisputeTerms,
): Dispute {
  const dispute = newDispute(intent, terms, toSeconds(cause))
  const opened = isInquiry(terms.status) ? dispute : withdraw(records, cause, dispute)
  records.objects.save(opened)
  records.events.append(cause, 'charge.dispute.created', opened)
  if (opened !== dispute) records.events.append(cause, 'charge.dispute.funds_withdrawn', opened)
  endWarnings(records, cause, intent.id)
  return opened
}

/**
 * Disputes a captured payment, or warns of it, as its test card says (https://docs.stripe.com/testing).
 * The caller runs it in the transaction of the capture.
 */
export function actAfterCapture(
  records: Records,
  request: EventCause,
  intent: PaymentIntent,
): void {
  // No request of ours caused it.
  const cause = { nowMs: request.nowMs }
  const { disputes = [], fraudWarning = false } = behaviorOf(intent, records) ?? {}
  const amount = Math.ceil(intent.amount_received / Math.max(1, disputes.length))
  for (const terms of disputes) openDispute(records, cause, intent, { ...terms, amount })
  if (fraudWarning) warnOf(records, cause, intent)
}

export const openTerms = z.strictObject({
  payment_intent: z.string(),
  amount: z.int().min(1).exactOptional(),
  reason: z.string().min(1).exactOptional(),
  status: z.enum(['needs_response', 'warning_needs_response']).exactOptional(),
})

/**
 * Opens a dispute in one transaction. A pending refund of its charge fails.
 *
 * @throws StripeError when the intent does not exist or has captured nothing.
 */
export function openDisputeOf(
  storage: Storage,
  terms: z.infer<typeof openTerms>,
  nowMs: number,
): Dispute {
  const { payment_intent: id, reason = 'fraudulent', status = 'needs_response' } = terms
  return storage.change(id, (records) => {
    const intent = records.objects.get('payment_intent', id, 'payment_intent')
    if (intent.amount_received === 0) throw refusedByState('This intent has no charge.', {})
    const { amount = intent.amount_received } = terms
    const opened = openDispute(records, { nowMs }, intent, { amount, reason, status })
    if (!isInquiry(status)) failPendingRefunds(records, intent, nowMs)
    return opened
  })
}

/** https://docs.stripe.com/api/refunds/object#refund_object-failure_reason */
const FAILED_BY_DISPUTE = {
  status: 'failed',
  failure_reason: 'charge_for_pending_refund_disputed',
} as const

function failPendingRefunds(records: Records, { id }: PaymentIntent, nowMs: number): void {
  for (const refund of records.objects.list('refund', { filters: { payment_intent: id } }).data) {
    if (refund.status === 'pending') settleRefund(records, refund.id, FAILED_BY_DISPUTE, nowMs)
  }
}

export const disputeStep = z.strictObject({
  status: z.enum(disputeStatuses),
  /** What comes back, by default what was withdrawn. */
  amount: z.int().min(1).optional(),
  /** Whether the fee comes back, too. Stripe returns some fees of a won dispute. */
  returns_fee: z.boolean().optional(),
})

/**
 * Moves a dispute to another status in one transaction: an inquiry that becomes a dispute withdraws
 * the money, a dispute that is won reinstates it.
 *
 * @throws StripeError when it does not exist, or cannot get into this status.
 */
export function moveDispute(
  storage: Storage,
  id: string,
  { status, amount, returns_fee = false }: z.infer<typeof disputeStep>,
  nowMs: number,
): Dispute {
  return storage.change(id, (records) => {
    const { objects, events } = records
    const dispute = objects.get('dispute', id)
    if (!mayBecome(dispute, status)) {
      throw refusedByState(`This dispute is ${dispute.status}, it cannot become ${status}.`, {})
    }
    const cause = { nowMs }
    const is_charge_refundable = isInquiry(status) || status === 'won'
    const next = { ...dispute, status, is_charge_refundable }
    const isEscalated = isInquiry(dispute.status) && !isInquiry(status)
    const withdrawn = isEscalated ? withdraw(records, cause, next) : next
    const fee = returns_fee ? -DISPUTE_FEE : 0
    const moved =
      status === 'won'
        ? moveMoney(records, cause, withdrawn, amount ?? dispute.amount, fee)
        : withdrawn
    objects.save(moved)
    events.append(cause, 'charge.dispute.updated', moved, dispute)
    if (isEscalated) events.append(cause, 'charge.dispute.funds_withdrawn', moved)
    if (status === 'won') events.append(cause, 'charge.dispute.funds_reinstated', moved)
    if (isClosed(status)) events.append(cause, 'charge.dispute.closed', moved)
    return moved
  })
}

/** The bank reports fraud, which moves no money, and mostly precedes a dispute. */
function warnOf({ objects, events }: Records, cause: EventCause, intent: PaymentIntent): void {
  const warning = {
    id: newId('issfr'),
    object: 'radar.early_fraud_warning',
    actionable: true,
    charge: String(intent.latest_charge),
    created: Math.floor(cause.nowMs / 1000),
    fraud_type: 'misc',
    livemode: false,
    payment_intent: intent.id,
  } satisfies Stripe.Radar.EarlyFraudWarning
  objects.save(warning)
  events.append(cause, 'radar.early_fraud_warning.created', warning)
}

/** A warning is actionable until its charge is disputed or fully refunded. */
export function endWarnings(
  { objects, events }: Records,
  cause: EventCause,
  paymentIntent: string,
): void {
  const filters = { payment_intent: paymentIntent }
  for (const warning of objects.list('radar.early_fraud_warning', { filters }).data) {
    const ended = { ...warning, actionable: false }
    objects.save(ended)
    events.append(cause, 'radar.early_fraud_warning.updated', ended, warning)
  }
}

/** A full refund of its charge ends an inquiry, without a movement of its own. */
export function endInquiries(
  { objects, events }: Records,
  cause: EventCause,
  paymentIntent: string,
): void {
  const disputes = objects.list('dispute', { filters: { payment_intent: paymentIntent } }).data
  for (const inquiry of disputes.filter((dispute) => mayBecome(dispute, 'warning_closed'))) {
    const closed = { ...inquiry, status: 'warning_closed' }
    objects.save(closed)
    events.append(cause, 'charge.dispute.updated', closed, inquiry)
    events.append(cause, 'charge.dispute.closed', closed)
  }
}

/**
 * Takes the amount, which is below 0, or gives it back. The log names the payment by the metadata of
 * its intent, which the dispute does not have.
 */
function moveMoney(
  { objects, executed }: Records,
  cause: EventCause,
  dispute: Dispute,
  amount: number,
  fee: number,
): Dispute {
  const { id, currency, payment_intent, balance_transactions } = dispute
  const metadata = objects.find('payment_intent', payment_intent)?.metadata ?? {}
  const kind = amount < 0 ? 'dispute.withdraw' : 'dispute.reinstate'
  executed.append(cause, kind, { id, currency, metadata }, Math.abs(amount))
  if (fee !== 0) executed.append(cause, 'dispute.fee', { id, currency, metadata }, fee)
  const movement = movementOfDispute(dispute, amount, fee, toSeconds(cause))
  objects.save(movement)
  return { ...dispute, balance_transactions: [...balance_transactions, movement] }
}

const withdraw = (records: Records, cause: EventCause, dispute: Dispute) =>
  moveMoney(records, cause, dispute, -dispute.amount, DISPUTE_FEE)

function toSeconds({ nowMs }: EventCause): number {
  return Math.floor(nowMs / 1000)
}
