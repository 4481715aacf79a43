// Changes the status of a refund after its creation. At Stripe a bank does this, up to 30 days later
// (https://docs.stripe.com/refunds#failed-refunds); here the timetable or a control route does it.
import { changed } from '../webhooks/event.ts'
import { movementOfFailedRefund } from '../balance/balance-transaction.ts'
import { openRefundStatuses, type RefundStatus } from './refund-status.ts'
import type { Refund } from './refund.ts'
import type { Storage } from '../storage.ts'
import { noSuchObject, refusedByState } from '../requests/stripe-errors.ts'

export interface Settlement {
  readonly status: RefundStatus
  /** https://docs.stripe.com/api/refunds/object#refund_object-failure_reason */
  readonly failureReason?: string | undefined
}

/**
 * Changes the refund in one transaction. The money of a refund that failed or was canceled returns
 * to the balance.
 *
 * @throws StripeError when the refund does not exist, or when its status is final.
 */
export function settleRefund(
  storage: Storage,
  id: string,
  settlement: Settlement,
  nowMs: number,
): Refund {
  return storage.transaction(() => settleRefundIn(storage, id, settlement, nowMs))
}

/** Like `settleRefund`, inside the caller's transaction. */
export function settleRefundIn(
  storage: Storage,
  id: string,
  { status, failureReason = 'unknown' }: Settlement,
  nowMs: number,
): Refund {
  const objects = storage.objects.besides(id)
  const refund = objects.find('refund', id)
  if (refund === undefined) throw noSuchObject('refund', id, 'refund')
  if (!openRefundStatuses.includes(refund.status)) {
    const message = `This refund cannot change any more: it is ${refund.status}.`
    throw refusedByState(message, {})
  }
  const cause = { nowMs, idempotencyKey: undefined }
  const settled: Refund = { ...refund, status }
  if (status === 'failed') settled.failure_reason = failureReason
  if (status === 'failed' || status === 'canceled') {
    const returned = movementOfFailedRefund(refund, Math.floor(nowMs / 1000))
    objects.save(returned)
    settled.failure_balance_transaction = returned.id
    const { amount, currency, metadata } = refund
    storage.executed.append(cause, { kind: 'refund.fail', id, amount, currency, metadata })
  }
  objects.save(settled)
  const data = { object: settled }
  const updated = changed<Refund>(refund, settled)
  storage.events.append(cause, { type: 'refund.updated', data: updated })
  storage.events.append(cause, { type: 'charge.refund.updated', data: updated })
  if (status === 'failed') storage.events.append(cause, { type: 'refund.failed', data })
  return settled
}
