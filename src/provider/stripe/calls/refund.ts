// Returns money of a captured payment. A lost call is found by the refund that it created.
import type Stripe from 'stripe'
import { showPaymentId, type Payment } from '../../../domain/payments/payment.ts'
import { showRefundId, type Refund } from '../../../domain/payments/refund.ts'
import { providerPaymentIdOf } from '../../call-outcomes.ts'
import type { CallIdentity } from '../../calls.ts'
import { pagesOf, type IsMatch, readMatches } from '../lists/pages.ts'
import { findOne } from '../matches.ts'
import { confirmRefund } from '../answers.ts'
import { send, type StripeCall } from './call.ts'

export const refundPayment: StripeCall<'refund'> = {
  writes: 'refunds',
  async execute(connection, { payment, refund }, identity) {
    const parameters = refundParameters(payment, refund, identity)
    const about = { payment_id: providerPaymentIdOf(payment), amount: refund.amountMinor }
    return await send(connection, identity, 'refunds.create', about, async (asked, options) => {
      const answered = await connection.stripe.refunds.create(parameters, options)
      return confirmRefund(refund, answered, asked)
    })
  },
  async find(connection, { payment, refund }, criteria) {
    const { refunds } = connection.stripe
    const paymentId = providerPaymentIdOf(payment)
    const search = {
      resource: 'refunds',
      names: { atomic_operation: criteria.operationId, atomic_refund: showRefundId(refund.id) },
      id: criteria.providerRefundId,
      retrieve: (id: string) => refunds.retrieve(id),
      list: async (isMatch: IsMatch) => {
        const list = (page: object) => refunds.list({ ...page, payment_intent: paymentId })
        const [reading] = await readMatches(pagesOf(connection, list), [isMatch])
        return { ...reading, filters: { payment_id: paymentId } }
      },
    } as const
    return await findOne(connection, search, (object, asked, listed) => {
      const found = object as unknown as Stripe.Response<Stripe.Refund>
      const confirmed = confirmRefund(refund, found, asked)
      return { ...confirmed, answered: { ...confirmed.answered, ...listed } }
    })
  },
}

export function refundParameters(
  payment: Payment,
  refund: Refund,
  { operationId }: CallIdentity,
): Stripe.RefundCreateParams {
  return {
    payment_intent: providerPaymentIdOf(payment),
    amount: refund.amountMinor,
    ...(refund.reason === null ? {} : { reason: refund.reason }),
    metadata: {
      ...refund.metadata,
      atomic_tenant: payment.tenantId,
      atomic_payment: showPaymentId(payment.id),
      atomic_refund: showRefundId(refund.id),
      atomic_operation: operationId,
      ...(refund.reference === null ? {} : { atomic_reference: refund.reference }),
    },
  }
}
