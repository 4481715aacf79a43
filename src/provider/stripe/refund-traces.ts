// Finds the outcome of a refund whose answer was lost: by the refund that the call created.
import type Stripe from 'stripe'
import type { Outcome } from '../../domain/operations/outcome.ts'
import type { Failure, Payment } from '../../domain/payments/payment.ts'
import { showRefundId, type Refund } from '../../domain/payments/refund.ts'
import type { RefundAcceptance, Trace } from '../payment-provider.ts'
import { fitTextOrNothing } from '../provider-text.ts'
import { confirmRefund } from './answers.ts'
import { providerPaymentIdOf, type Connection } from './connection.ts'
import { findOne, type Explain } from './matches.ts'

export async function findRefund(
  connection: Connection,
  payment: Payment,
  refund: Refund,
  trace: Trace,
): Promise<Outcome<RefundAcceptance>> {
  const { refunds } = connection.stripe
  const paymentId = providerPaymentIdOf(payment)
  const search = {
    resource: 'refunds',
    names: { atomic_operation: trace.operationId, atomic_refund: showRefundId(refund.id) },
    id: trace.providerRefundId,
    retrieve: (id: string) => refunds.retrieve(id),
    within: { payment_id: paymentId },
    list: (page: object) => refunds.list({ ...page, payment_intent: paymentId }),
  } as const
  return await findOne(connection, search, explainRefund(payment, refund))
}

function explainRefund(payment: Payment, refund: Refund): Explain<RefundAcceptance> {
  return (object, asked, listed) => {
    const found = object as unknown as Stripe.Response<Stripe.Refund>
    const confirmed = confirmRefund(refund, found, asked)
    const answered = { ...confirmed.answered, ...listed }
    if (confirmed.outcome === 'done') return { ...confirmed, answered }
    const { object: kind, amount, currency, status } = found
    const isAboutIt =
      kind === 'refund' && amount === refund.amountMinor && currency === refund.currency
    if (!isAboutIt || (status !== 'failed' && status !== 'canceled'))
      return { ...confirmed, answered }
    const failure: Failure = {
      code: fitTextOrNothing(found.failure_reason) ?? `refund_${status}`,
      declineCode: null,
      message: `The refund has ${status === 'failed' ? 'failed' : 'been canceled'}.`,
    }
    const { providerPaymentId } = payment
    return { outcome: 'declined', failure, providerPaymentId, asked, answered }
  }
}
