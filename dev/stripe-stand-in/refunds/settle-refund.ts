// Changes the status of a refund after its creation. At Stripe a bank does this, up to 30 days later
// (https://docs.stripe.com/refunds#failed-refunds); here the timetable or a control route does it.
import { z } from 'zod'
import { movementOfFailedRefund } from '../balance/balance-transaction.ts'
import { openRefundStatuses, refundStatuses } from './refund-status.ts'
import type { Refund } from './refund.ts'
import type { Records } from '../storage.ts'
import { refusedByState } from '../requests/stripe-errors.ts'

export const settlement = z.strictObject({
  status: z.enum(refundStatuses),
  /** https://docs.stripe.com/api/refunds/object#refund_object-failure_reason */
  failure_reason: z.string().min(1).optional(),
})

/**
 * Changes the refund, in the caller's transaction. The money of a refund that failed or was canceled
 * returns to the balance.
 *
 * @throws StripeError when the refund does not exist, or when its status is final.
 */
export function settleRefund(
  { objects, executed, events }: Records,
  id: string,
  { status, failure_reason = 'unknown' }: z.infer<typeof settlement>,
  nowMs: number,
): Refund {
  const refund = objects.get('refund', id, 'refund')
  if (!openRefundStatuses.includes(refund.status)) {
    const message = `This refund cannot change any more: it is ${refund.status}.`
    throw refusedByState(message, {})
  }
  const cause = { nowMs }
  const settled: Refund = { ...refund, status }
  if (status === 'failed') settled.failure_reason = failure_reason
  if (status === 'failed' || status === 'canceled') {
    const returned = movementOfFailedRefund(refund, Math.floor(nowMs / 1000))
    objects.save(returned)
    settled.failure_balance_transaction = returned.id
    executed.append(cause, 'refund.fail', refund, refund.amount)
  }
  objects.save(settled)
  events.append(cause, 'refund.updated', settled, refund)
  events.append(cause, 'charge.refund.updated', settled, refund)
  if (status === 'failed') events.append(cause, 'refund.failed', settled)
  return settled
}
