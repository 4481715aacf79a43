// How payments are compared. The judgment is pure: the caller decides when to read the two.
import { findPayment } from '../db/payments/payments.ts'
import { findPaymentsOf } from '../db/reconciliation/compared-records.ts'
import { walkMissingPayments } from '../db/reconciliation/missing-records.ts'
import { comparisonOf, comparisonOfSurplus } from '../domain/events/provider-event.ts'
import { type Payment, showPaymentId } from '../domain/payments/payment.ts'
import {
  isSurplusHold,
  hasMovedOn,
  isFollowed,
  type Standing,
} from '../domain/payments/standing.ts'
import type { ProviderPayment, Correlation } from '../provider/payment-provider.ts'
import type { RecordKind } from './compare-records.ts'
import type { FindingKind } from '../domain/operations/finding.ts'
import type { PaymentStatus } from '../domain/payments/payment-status.ts'
import { showId } from '../domain/resource-id.ts'
import {
  agrees,
  differsIn,
  inMotion,
  movedOn,
  outcomeUnknown,
  type Difference,
  type Verdict,
} from './verdict.ts'

export const paymentRecords: RecordKind<Payment, ProviderPayment> = {
  stage: 'payments',
  list: (provider, ...args) => provider.listPayments(...args),
  read: (provider, objectId) => provider.readPayment(objectId),
  objectIdOf: ({ providerPaymentId }) => providerPaymentId,
  objectIdIn: ({ providerPaymentId }) => providerPaymentId,
  ourIdIn: ({ paymentId }) => paymentId,
  paymentIdOf: ({ id }) => id,
  findCompared: findPaymentsOf,
  find: findPayment,
  walkMissing: walkMissingPayments,
  judge: judgePayment,
  judgeMissing: (ours, providerPaymentId) => missingPayment({ ...ours, providerPaymentId }),
  evidenceOf,
  eventOf: (ours, { standing }, _run, now) => comparisonOf(ours, standing?.status ?? '', now),
  // `hold.release` releases a hold that the payment does not use.
  repairOf: (ours, theirs, now) =>
    isSurplusHold(ours, theirs) ? comparisonOfSurplus(ours, theirs, now) : undefined,
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

/**
 * @param ours the payment that names the provider's, otherwise the payment that the provider's
 * names.
 */
export function judgePayment(ours: Payment | undefined, theirs: ProviderPayment): Verdict {
  const evidence = evidenceOf(ours, theirs)
  if (ours === undefined) return differsIn(['missing_here'], evidence)
  if (ours.status === 'unknown') return outcomeUnknown
  if (ours.providerPaymentId !== theirs.providerPaymentId) {
    return judgeStray(ours, theirs, evidence)
  }
  if (ours.status === 'processing') return inMotion
  const standing = compareStanding(ours, ours.status, theirs.standing)
  const terms: FindingKind[] = []
  if (ours.amountMinor !== theirs.amountMinor) terms.push('amount_differs')
  if (ours.currency !== theirs.currency) terms.push('currency_differs')
  // A payment with a different amount or currency is not followed.
  if (standing === 'moved_on') return terms.length === 0 ? movedOn : differsIn(terms, evidence)
  return differsIn([...new Set([...terms, ...standing])], evidence)
}

/** Judges a provider's payment that names our payment, while ours does not name it. */
function judgeStray(
  ours: Payment,
  { standing }: ProviderPayment,
  evidence: Omit<Difference, 'kind'>,
): Verdict {
  // It holds no money and never will: it is left over from a refused card.
  if (standing?.status === 'refused' || standing?.status === 'canceled') return agrees
  if (ours.providerPaymentId !== null) {
    const takesNothingYet = standing?.status === 'held' || standing?.status === 'undecided'
    return differsIn([takesNothingYet ? 'held_twice' : 'charged_twice'], evidence)
  }
  return ours.status === 'processing' ? inMotion : differsIn(['status_differs'], evidence)
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

/** Judges a payment of ours of which the provider has no record. */
export function missingPayment(ours: Payment & { providerPaymentId: string }): Verdict {
  if (ours.status === 'unknown') return outcomeUnknown
  if (ours.status === 'processing') return inMotion
  const { providerPaymentId: objectId } = ours
  const evidence = { objectId, subject: subjectOf(ours), ours: describeOurs(ours), theirs: null }
  return differsIn(['missing_there'], evidence)
}

function evidenceOf(ours: Payment | undefined, theirs: ProviderPayment): Omit<Difference, 'kind'> {
  return {
    objectId: theirs.providerPaymentId,
    subject: ours === undefined ? null : subjectOf(ours),
    ours: ours === undefined ? null : describeOurs(ours),
    theirs: describeTheirs(theirs),
  }
}

function subjectOf({ tenantId, id }: Payment) {
  return { tenantId, paymentId: id }
}

function describeOurs(payment: Payment): Record<string, unknown> {
  return {
    payment: showPaymentId(payment.id),
    status: payment.status,
    amount: payment.amountMinor,
    amount_captured: payment.amountCapturedMinor,
    currency: payment.currency,
    provider_payment_id: payment.providerPaymentId,
  }
}

function describeTheirs(theirs: ProviderPayment): Record<string, unknown> {
  const { standing } = theirs
  return {
    status: standing?.status ?? 'none that a payment of ours can have',
    amount: theirs.amountMinor,
    ...(standing?.status === 'captured' ? { amount_captured: standing.amountCapturedMinor } : {}),
    currency: theirs.currency,
    created_at: theirs.createdAt.toISOString(),
    ...describeCorrelation(theirs.correlation),
  }
}

/** The payment and the operation of ours that the provider's record names, if any. */
export function describeCorrelation(correlation: Correlation | null): Record<string, unknown> {
  return correlation === null
    ? {}
    : {
        payment: showPaymentId(correlation.paymentId),
        operation: showId('op', correlation.operationId),
      }
}
