// How refunds are compared.
import { showPaymentId } from '../domain/payments/payment.ts'
import {
  hasReturned,
  refundHasMovedOn,
  showRefundId,
  type Refund,
  type RefundStanding,
} from '../domain/payments/refund.ts'
import type { ProviderRefund } from '../provider/payment-provider.ts'
import { describeCorrelation, differingTerms, type RecordKind } from './judge-record.ts'

export const refundRecords: RecordKind<Refund, ProviderRefund> = {
  table: 'refunds',
  list: (provider, ...args) => provider.listRefunds(...args),
  read: (provider, objectId) => provider.readRefund(objectId),
  objectIdOf: ({ providerRefundId }) => providerRefundId,
  objectIdIn: ({ providerRefundId }) => providerRefundId,
  ourIdIn: ({ correlation }) => correlation && correlation.refundId,
  subjectOf: ({ tenantId, paymentId, id }) => ({ tenantId, paymentId, refundId: id }),
  describeOurs: (ours) => ({
    refund: showRefundId(ours.id),
    payment: showPaymentId(ours.paymentId),
    status: ours.status,
    amount: ours.amountMinor,
    currency: ours.currency,
    provider_refund_id: ours.providerRefundId,
  }),
  describeTheirs({ correlation, ...theirs }) {
    const refundId = correlation?.refundId ?? null
    return {
      status: theirs.standing?.status ?? 'undecided',
      amount: theirs.amountMinor,
      currency: theirs.currency,
      created_at: theirs.createdAt.toISOString(),
      provider_payment_id: theirs.providerPaymentId,
      ...(refundId === null ? {} : { refund: showRefundId(refundId) }),
      ...describeCorrelation(correlation),
    }
  },
  // Those of the window are in the provider's list.
  isWaiting: (sql, { from }) => sql`
    entry.status in ('pending', 'requires_action') and entry.provider_refund_id is not null
      and entry.created_at < ${from.toISOString()}
  `,
  compare(ours, theirs) {
    const { standing } = theirs
    const terms = differingTerms(ours, theirs)
    const isAhead = standing !== undefined && refundHasMovedOn(ours, standing)
    if (terms.length === 0 && isAhead) return 'moved_on'
    const isWaiting = standing?.status === 'pending' || standing?.status === 'requires_action'
    // Versions before these statuses took a pending refund for a successful one.
    if (ours.status === 'succeeded' && isWaiting) return 'in_motion'
    return agreesOnStatus(ours, standing) ? terms : [...terms, 'status_differs']
  },
  judgeStray: (_ours, { standing }) =>
    standing !== undefined && hasReturned(standing) ? [] : ['refunded_twice'],
  stateOf: (_ours, { standing }) => standing?.status ?? '',
}

function agreesOnStatus({ status }: Refund, standing: RefundStanding | undefined): boolean {
  // Both gave the customer nothing.
  if (status === 'declined') return standing !== undefined && hasReturned(standing)
  return status === standing?.status
}
