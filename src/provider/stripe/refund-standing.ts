// Reads where a refund stands at Stripe: from the answer to its creation, or from a look at it.
import type Stripe from 'stripe'
import type { Done, Unknown } from '../../domain/operations/outcome.ts'
import type { Failure } from '../../domain/payments/payment.ts'
import type { Refund, RefundStanding } from '../../domain/payments/refund.ts'
import { fitTextOrNothing, isObjectId } from '../provider-text.ts'
import { type CallDescription, unknown } from '../call-outcomes.ts'
import { MISMATCH } from './answers.ts'
import { namedId } from '../json.ts'

/** The standing of a refund, if the answer is about this refund and in a possible state. */
export function confirmRefund(
  refund: Refund,
  answer: Stripe.Response<Stripe.Refund>,
  asked: CallDescription,
): Done<RefundStanding> | Unknown {
  const answered = {
    status: answer.lastResponse?.statusCode,
    request_id: fitTextOrNothing(answer.lastResponse?.requestId),
    refund_id: fitTextOrNothing(answer.id),
    refund_status: fitTextOrNothing(answer.status),
    amount: typeof answer.amount === 'number' ? answer.amount : undefined,
  }
  const isAboutIt =
    answer.object === 'refund' &&
    isObjectId(answer.id) &&
    answer.amount === refund.amountMinor &&
    answer.currency === refund.currency
  const value = isAboutIt ? refundStandingOf(answer) : undefined
  return value === undefined
    ? unknown(asked, answered, MISMATCH)
    : { outcome: 'done', value, asked, answered }
}

/**
 * The standing of a refund; undefined in a state that no refund of ours can have. Its money has left
 * the balance when it has a movement there, and at the latest when it succeeded.
 *
 * @see https://docs.stripe.com/api/refunds/object
 */
export function refundStandingOf(refund: Stripe.Refund): RefundStanding | undefined {
  const { id: providerRefundId, status, balance_transaction: movement } = refund
  const moved = namedId(movement) !== null
  switch (status) {
    case 'succeeded':
      return { providerRefundId, status, moved: true }
    case 'pending':
    case 'requires_action':
    case 'canceled':
      return { providerRefundId, status, moved }
    case 'failed':
      return { providerRefundId, status, failure: failureOf(refund), moved }
    default:
      return undefined
  }
}

/** @see https://docs.stripe.com/refunds#failed-refunds */
function failureOf({ failure_reason: reason }: Stripe.Refund): Failure {
  return {
    code: fitTextOrNothing(reason) ?? 'unknown',
    declineCode: null,
    message: 'The refund has failed. Its money is on the balance again.',
  }
}
