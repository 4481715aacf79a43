// Finds the outcome of a refund whose answer was lost: by the refund that the call created.
import type Stripe from 'stripe'
import type { Outcome } from '../../domain/operations/outcome.ts'
import type { Payment } from '../../domain/payments/payment.ts'
import { showRefundId, type Refund } from '../../domain/payments/refund.ts'
import type { RefundStanding } from '../../domain/payments/refund-standing.ts'
import type { Trace } from '../payment-provider.ts'
import { providerPaymentIdOf } from '../call-outcomes.ts'
import { confirmRefund } from './refund-standing.ts'
import { type Connection } from './connection.ts'
import { pagesOf, readMatches, type IsMatch } from './lists/pages.ts'
import { findOne, type Explain } from './matches.ts'

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
