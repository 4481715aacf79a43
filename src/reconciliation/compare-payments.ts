// How payments are compared.
import type { FindingKind } from '../domain/operations/finding.ts'
import { type Payment, showPaymentId, type PaymentStatus } from '../domain/payments/payment.ts'
import {
  hasMovedOn,
  isFollowed,
  isSurplusHold,
  type ProviderStatus,
} from '../domain/payments/provider-status.ts'
import type { ProviderPayment } from '../provider/payment-provider.ts'
import { describeCorrelation, differingTerms, type RecordKind } from './judge-record.ts'

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
