// How refunds are compared.
import { showPaymentId } from '../domain/payments/payment.ts'
import {
  hasReturned,
  refundHasMovedOn,
  showRefundId,
  type Refund,
  type RefundProviderStatus,
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
      status: theirs.providerStatus?.status ?? 'undecided',
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
    const { providerStatus } = theirs
    const terms = differingTerms(ours, theirs)
    const isAhead = providerStatus !== undefined && refundHasMovedOn(ours, providerStatus)
    if (terms.length === 0 && isAhead) return 'moved_on'
    const isWaiting =
      providerStatus?.status === 'pending' || providerStatus?.status === 'requires_action'
    // Versions before these statuses took a pending refund for a successful one.
    if (ours.status === 'succeeded' && isWaiting) return 'in_motion'
    return agreesOnStatus(ours, providerStatus) ? terms : [...terms, 'status_differs']
  },
  judgeStray: (_ours, { providerStatus }) =>
    providerStatus !== undefined && hasReturned(providerStatus) ? [] : ['refunded_twice'],
  stateOf: (_ours, { providerStatus }) => providerStatus?.status ?? '',
}

function agreesOnStatus(
  { status }: Refund,
  providerStatus: RefundProviderStatus | undefined,
): boolean {
  // Both gave the customer nothing.
  if (status === 'declined') return providerStatus !== undefined && hasReturned(providerStatus)
  return status === providerStatus?.status
}
