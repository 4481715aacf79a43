// Opens disputes and moves them on. At Stripe the bank of the cardholder does this; here a test card or
// a control route does it.
import {
  movementOfDispute,
  movementOfReinstatement,
  type BalanceTransaction,
} from '../balance/balance-transaction.ts'
import type { PaymentIntent } from '../payment-intents/payment-intent.ts'
import { changed, type EventCause } from '../webhooks/event.ts'
import { settleRefundIn } from '../refunds/settle-refund.ts'
import type { Records, Storage } from '../storage.ts'
import { noSuchObject, refusedByState } from '../requests/stripe-errors.ts'
import { endWarnings } from './early-fraud-warnings.ts'
import {
  isClosed,
  isInquiry,
  mayBecome,
  newDispute,
  type Dispute,
  type DisputeTerms,
} from './dispute.ts'

type Changed = Pick<Records, 'objects' | 'executed' | 'events'>

/** Opens a dispute of a captured intent. An inquiry moves no money. */
export function openDispute(
  records: Changed,
  cause: EventCause,
  intent: PaymentIntent,
  terms: DisputeTerms,
): Dispute {
  const dispute = newDispute(intent, terms, toSeconds(cause))
  const opened = isInquiry(terms.status) ? dispute : withdraw(records, cause, dispute)
  records.objects.save(opened)
  const data = { object: opened }
  records.events.append(cause, { type: 'charge.dispute.created', data })
  if (opened !== dispute)
    records.events.append(cause, { type: 'charge.dispute.funds_withdrawn', data })
  endWarnings(records, cause, intent.id)
  return opened
}

export interface OpenTerms extends Partial<DisputeTerms> {
  payment_intent: string
}

/**
 * Opens a dispute in one transaction. A pending refund of its charge fails.
 *
 * @throws StripeError when the intent does not exist or has captured nothing.
 */
export function openDisputeOf(storage: Storage, terms: OpenTerms, nowMs: number): Dispute {
  const { payment_intent: id, reason = 'fraudulent', status = 'needs_response' } = terms
  return storage.transaction(() => {
    const objects = storage.objects.besides(id)
    const intent = objects.find('payment_intent', id)
    if (intent === undefined) throw noSuchObject('payment_intent', id, 'payment_intent')
    if (intent.amount_received === 0) throw refusedByState('This intent has no charge.', {})
    const { amount = intent.amount_received } = terms
    const cause = { nowMs, idempotencyKey: undefined }
    const opened = openDispute({ ...storage, objects }, cause, intent, { amount, reason, status })
    if (!isInquiry(status)) failPendingRefunds(storage, intent, nowMs)
    return opened
  })
}

/** https://docs.stripe.com/api/refunds/object#refund_object-failure_reason */
const FAILED_BY_DISPUTE = {
  status: 'failed',
  failureReason: 'charge_for_pending_refund_disputed',
} as const

function failPendingRefunds(storage: Storage, { id }: PaymentIntent, nowMs: number): void {
  const everything = { limit: 100, createdFrom: 0, createdTo: Number.MAX_SAFE_INTEGER }
  const filters = { payment_intent: id }
  const page = storage.objects.list('refund', { ...everything, filters, cursor: undefined })
  for (const refund of page.data) {
    if (refund.status === 'pending') settleRefundIn(storage, refund.id, FAILED_BY_DISPUTE, nowMs)
  }
}

export interface DisputeStep {
  status: string
  /** What comes back, by default what was withdrawn. */
  amount?: number | undefined
  /** Whether the fee comes back, too. Stripe returns some fees of a won dispute. */
  returns_fee?: boolean | undefined
}

/**
 * Moves a dispute to another status in one transaction: an inquiry that becomes a dispute withdraws
 * the money, a dispute that is won reinstates it.
 *
 * @throws StripeError when it does not exist, or cannot get into this status.
 */
export function moveDispute(
  storage: Storage,
  id: string,
  { status, ...returned }: DisputeStep,
  nowMs: number,
): Dispute {
  return storage.transaction(() => {
    const records = { ...storage, objects: storage.objects.besides(id) }
    const dispute = records.objects.find('dispute', id)
    if (dispute === undefined) throw noSuchObject('dispute', id, 'dispute')
    if (!mayBecome(dispute, status)) {
      throw refusedByState(`This dispute is ${dispute.status}, it cannot become ${status}.`, {})
    }
    const cause = { nowMs, idempotencyKey: undefined }
    const is_charge_refundable = isInquiry(status) || status === 'won'
    const next = { ...dispute, status, is_charge_refundable }
    const isEscalated = isInquiry(dispute.status) && !isInquiry(status)
    const withdrawn = isEscalated ? withdraw(records, cause, next) : next
    const moved = status === 'won' ? reinstate(records, cause, withdrawn, returned) : withdrawn
    records.objects.save(moved)
    const data = { object: moved }
    records.events.append(cause, { type: 'charge.dispute.updated', data: changed(dispute, moved) })
    if (isEscalated) records.events.append(cause, { type: 'charge.dispute.funds_withdrawn', data })
    if (status === 'won')
      records.events.append(cause, { type: 'charge.dispute.funds_reinstated', data })
    if (isClosed(status)) records.events.append(cause, { type: 'charge.dispute.closed', data })
    return moved
  })
}

/** A full refund of its charge ends an inquiry, without a movement of its own. */
export function endInquiries(
  { objects, events }: Pick<Records, 'objects' | 'events'>,
  cause: EventCause,
  paymentIntent: string,
): void {
  const everything = { limit: 100, createdFrom: 0, createdTo: Number.MAX_SAFE_INTEGER }
  const filters = { payment_intent: paymentIntent }
  const disputes = objects.list('dispute', { ...everything, filters, cursor: undefined }).data
  for (const inquiry of disputes.filter((dispute) => mayBecome(dispute, 'warning_closed'))) {
    const data = { object: { ...inquiry, status: 'warning_closed' as const } }
    objects.save(data.object)
    const updated = changed<Dispute>(inquiry, data.object)
    events.append(cause, { type: 'charge.dispute.updated', data: updated })
    events.append(cause, { type: 'charge.dispute.closed', data })
  }
}

function withdraw(records: Changed, cause: EventCause, dispute: Dispute): Dispute {
  return withMovement(records, cause, dispute, movementOfDispute(dispute, toSeconds(cause)))
}

function reinstate(
  records: Changed,
  cause: EventCause,
  dispute: Dispute,
  { amount = dispute.amount, returns_fee = false }: Omit<DisputeStep, 'status'>,
): Dispute {
  const movement = movementOfReinstatement({ ...dispute, amount }, toSeconds(cause), returns_fee)
  return withMovement(records, cause, dispute, movement)
}

/** The log names the payment by the metadata of its intent, which the dispute does not have. */
function withMovement(
  { objects, executed }: Changed,
  cause: EventCause,
  dispute: Dispute,
  movement: BalanceTransaction,
): Dispute {
  const { id, payment_intent } = dispute
  const metadata = objects.find('payment_intent', payment_intent)?.metadata ?? {}
  const { currency, amount, fee } = movement
  const kind = amount < 0 ? 'dispute.withdraw' : 'dispute.reinstate'
  executed.append(cause, { kind, id, amount: Math.abs(amount), currency, metadata })
  if (fee !== 0)
    executed.append(cause, { kind: 'dispute.fee', id, amount: fee, currency, metadata })
  objects.save(movement)
  return { ...dispute, balance_transactions: [...dispute.balance_transactions, movement] }
}

function toSeconds({ nowMs }: EventCause): number {
  return Math.floor(nowMs / 1000)
}
