// How payments are compared.
import type { FindingKind } from '../domain/operations/finding.ts'
import { type Payment, showPaymentId, type PaymentStatus } from '../domain/payments/payment.ts'
import {
  hasMovedOn,
  isFollowed,
  isSurplusHold,
  type Standing,
} from '../domain/payments/standing.ts'
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
  describeTheirs: ({ standing, ...theirs }) => ({
    status: standing?.status ?? 'none that a payment of ours can have',
    amount: theirs.amountMinor,
    ...(standing?.status === 'captured' ? { amount_captured: standing.amountCapturedMinor } : {}),
    currency: theirs.currency,
    created_at: theirs.createdAt.toISOString(),
    ...describeCorrelation(theirs.correlation),
  }),
  compare(ours, theirs) {
    const standing = compareStanding(ours, ours.status as ComparableStatus, theirs.standing)
    const terms = differingTerms(ours, theirs)
    // A payment with a different amount or currency is not followed.
    if (standing === 'moved_on') return terms.length === 0 ? standing : terms
    return [...new Set([...terms, ...standing])]
  },
  judgeStray(_ours, { standing }) {
    // It is left over from a refused card.
    if (standing?.status === 'refused' || standing?.status === 'canceled') return []
    const takesNothingYet = standing?.status === 'held' || standing?.status === 'undecided'
    return [takesNothingYet ? 'held_twice' : 'charged_twice']
  },
  stateOf: (_ours, { standing }) => standing?.status ?? '',
  // `hold.release` releases a hold that the payment does not use.
  canRepair: isSurplusHold,
}

type ComparableStatus = Exclude<PaymentStatus, 'processing' | 'unknown'>

/** The provider's standings that agree with each status of ours. */
const standings: Readonly<Record<ComparableStatus, readonly Standing['status'][]>> = {
  requires_action: ['undecided'],
  requires_capture: ['held'],
  succeeded: ['captured'],
  declined: ['refused', 'canceled'],
  canceled: ['canceled'],
  failed: ['refused', 'canceled'],
}

function compareStanding(
  ours: Payment,
  status: ComparableStatus,
  standing: Standing | undefined,
): 'moved_on' | readonly FindingKind[] {
  if (standing === undefined) return ['status_differs']
  if (standings[status].includes(standing.status)) {
    const capturedMinor = standing.status === 'captured' ? standing.amountCapturedMinor : null
    const agreesOnAmount = capturedMinor === null || capturedMinor === ours.amountCapturedMinor
    return agreesOnAmount ? [] : ['amount_differs']
  }
  return isFollowed(status) && hasMovedOn(ours, standing) ? 'moved_on' : ['status_differs']
}
