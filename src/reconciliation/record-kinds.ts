// How payments, refunds and disputes are compared: one description of each.
import { hash } from 'node:crypto'
import type { FindingKind } from '../domain/operations/finding.ts'
import { type Payment, showPaymentId, type PaymentStatus } from '../domain/payments/payment.ts'
import {
  hasMovedOn,
  isFollowed,
  isSurplusHold,
  type ProviderStatus,
} from '../domain/payments/provider-status.ts'
import type {
  ProviderPayment,
  ProviderRefund,
  ProviderDispute,
} from '../provider/payment-provider.ts'
import {
  describeCorrelation,
  differingTerms,
  type RecordKind,
  type OurRecord,
} from './judge-record.ts'
import {
  hasReturned,
  refundHasMovedOn,
  showRefundId,
  type Refund,
  type RefundProviderStatus,
} from '../domain/payments/refund.ts'
import type { Sql } from '../db/connection/client.ts'
import { showDisputeId, disputeHasMovedOn, type Dispute } from '../domain/payments/dispute.ts'
import { comparedIdsOf, findRecords, type ComparedId } from './our-records.ts'

export const paymentRecords: RecordKind<Payment, ProviderPayment> = {
  table: 'payments',
  list: (provider, ...args) => provider.listPayments(...args),
  read: (provider, objectId) => provider.readPayment(objectId),
  objectIdOf: ({ providerPaymentId }) => providerPaymentId,
  objectIdIn: ({ providerPaymentId }) => providerPaymentId,
  ourIdIn: ({ correlation }) => correlation && correlation.paymentId,
  subjectOf: ({ tenantId, id }) => ({ tenantId, paymentId: id }),
  describeOurs: (ours) => ({
    payment: showPaymentId(ours.id),
    status: ours.status,
    amount: ours.amountMinor,
    amount_captured: ours.amountCapturedMinor,
    currency: ours.currency,
    provider_payment_id: ours.providerPaymentId,
  }),
  describeTheirs: ({ providerStatus, ...theirs }) => ({
    status: providerStatus?.status ?? 'none that a payment of ours can have',
    amount: theirs.amountMinor,
    ...(providerStatus?.status === 'captured'
      ? { amount_captured: providerStatus.amountCapturedMinor }
      : {}),
    currency: theirs.currency,
    created_at: theirs.createdAt.toISOString(),
    ...describeCorrelation(theirs.correlation),
  }),
  compare(ours, theirs) {
    const status = ours.status as ComparableStatus
    const verdict = compareProviderStatus(ours, status, theirs.providerStatus)
    const terms = differingTerms(ours, theirs)
    // A payment with a different amount or currency is not followed.
    if (verdict === 'moved_on') return terms.length === 0 ? verdict : terms
    return [...new Set([...terms, ...verdict])]
  },
  judgeStray(_ours, { providerStatus }) {
    // It is left over from a refused card.
    if (providerStatus?.status === 'refused' || providerStatus?.status === 'canceled') return []
    const takesNothingYet =
      providerStatus?.status === 'held' || providerStatus?.status === 'undecided'
    return [takesNothingYet ? 'held_twice' : 'charged_twice']
  },
  stateOf: (_ours, { providerStatus }) => providerStatus?.status ?? '',
  // `hold.release` releases a hold that the payment does not use.
  canRepair: isSurplusHold,
}

type ComparableStatus = Exclude<PaymentStatus, 'processing' | 'unknown'>

/** The provider statuses that agree with each status of ours. */
const providerStatuses: Readonly<Record<ComparableStatus, readonly ProviderStatus['status'][]>> = {
  requires_action: ['undecided'],
  requires_capture: ['held'],
  succeeded: ['captured'],
  declined: ['refused', 'canceled'],
  canceled: ['canceled'],
  failed: ['refused', 'canceled'],
}

function compareProviderStatus(
  ours: Payment,
  status: ComparableStatus,
  providerStatus: ProviderStatus | undefined,
): 'moved_on' | readonly FindingKind[] {
  if (providerStatus === undefined) return ['status_differs']
  if (providerStatuses[status].includes(providerStatus.status)) {
    const capturedMinor =
      providerStatus.status === 'captured' ? providerStatus.amountCapturedMinor : null
    const agreesOnAmount = capturedMinor === null || capturedMinor === ours.amountCapturedMinor
    return agreesOnAmount ? [] : ['amount_differs']
  }
  return isFollowed(status) && hasMovedOn(ours, providerStatus) ? 'moved_on' : ['status_differs']
}

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

/** The disputed payment, and the dispute if we have it. */
interface OurDispute extends OurRecord {
  readonly paymentId: string
  readonly providerDisputeId: string
  readonly dispute: Dispute | null
}

/**
 * Those that the provider opened in the window, and ours that are not closed. It opens them: one of a payment
 * of ours that we do not have is followed, too.
 */
export const disputeRecords: RecordKind<OurDispute, ProviderDispute> = {
  table: 'disputes',
  list: (provider, ...args) => provider.listDisputes(...args),
  read: (provider, objectId) => provider.readDispute(objectId),
  objectIdOf: ({ providerDisputeId }) => providerDisputeId,
  objectIdIn: ({ providerDisputeId }) => providerDisputeId,
  ourIdIn: () => null,
  subjectOf: ({ tenantId, paymentId }) => ({ tenantId, paymentId }),
  describeOurs: ({ dispute }) =>
    dispute && {
      dispute: showDisputeId(dispute.id),
      payment: showPaymentId(dispute.paymentId),
      status: dispute.status,
      amount: dispute.amountMinor,
      currency: dispute.currency,
    },
  describeTheirs: ({ providerStatus, createdAt, providerPaymentId }) => ({
    kind: 'dispute',
    status: providerStatus?.status ?? 'none that is known here',
    amount: providerStatus?.amountMinor ?? null,
    currency: providerStatus?.currency ?? null,
    created_at: createdAt.toISOString(),
    provider_payment_id: providerPaymentId,
  }),
  find: findOurs,
  isWaiting: (sql) => sql`entry.status not in ('warning_closed', 'won', 'lost', 'prevented')`,
  compare({ dispute }, { providerStatus }) {
    if (providerStatus === undefined) return ['status_differs']
    return dispute === null || disputeHasMovedOn(dispute, providerStatus) ? 'moved_on' : []
  },
  stateOf({ dispute }, { providerStatus }) {
    // One event for each change: any member can be what has changed, and can change back.
    const change = JSON.stringify({ from: dispute, to: providerStatus })
    return `${providerStatus?.status}_${hash('sha256', change).slice(0, 16)}`
  },
}

async function findOurs(
  sql: Sql,
  provider: string,
  wanted: readonly ComparedId[],
  page: readonly ProviderDispute[],
): Promise<OurDispute[]> {
  const disputes = await findRecords(sql, 'disputes', provider, wanted)
  const disputed = page.flatMap(({ providerPaymentId }) => comparedIdsOf(providerPaymentId))
  const payments = await findRecords(sql, 'payments', provider, disputed)
  return page.flatMap(({ providerDisputeId, providerPaymentId }) => {
    const dispute = disputes.find((one) => one.providerDisputeId === providerDisputeId) ?? null
    const payment = payments.find((one) => one.providerPaymentId === providerPaymentId)
    const disputedIn = payment ? { tenantId: payment.tenantId, paymentId: payment.id } : dispute
    if (disputedIn === null) return []
    const { tenantId, paymentId } = disputedIn
    const { id, status } = dispute ?? { id: providerDisputeId, status: '' }
    return [{ tenantId, id, status, paymentId, providerDisputeId, dispute }]
  })
}
