// How refunds are compared, and the refunds from before the window that wait for the provider. The judgment is
// pure, as for payments.
import { findRefund } from '../db/payments/refunds.ts'
import { findRefundsOf } from '../db/reconciliation/compared-records.ts'
import { walkMissingRefunds, walkWaitingRefunds } from '../db/reconciliation/missing-records.ts'
import { comparisonOfRefund } from '../domain/events/provider-event.ts'
import {
  type Refund,
  showRefundId,
  hasReturned,
  refundHasMovedOn,
  waitingRefundStatuses,
  type RefundStanding,
} from '../domain/payments/refund.ts'
import type { ProviderRefund } from '../provider/payment-provider.ts'
import { compareObject, type RecordKind } from './compare-records.ts'
import { untilStopped, type Comparison } from './comparison.ts'
import type { FindingKind } from '../domain/operations/finding.ts'
import { showPaymentId } from '../domain/payments/payment.ts'
import { describeCorrelation } from './compare-payments.ts'
import {
  agrees,
  differsIn,
  inMotion,
  movedOn,
  outcomeUnknown,
  type Difference,
  type Verdict,
} from './verdict.ts'

export const refundRecords: RecordKind<Refund, ProviderRefund> = {
  stage: 'refunds',
  list: (provider, ...args) => provider.listRefunds(...args),
  read: (provider, objectId) => provider.readRefund(objectId),
  objectIdOf: ({ providerRefundId }) => providerRefundId,
  objectIdIn: ({ providerRefundId }) => providerRefundId,
  ourIdIn: ({ refundId }) => refundId ?? null,
  paymentIdOf: ({ paymentId }) => paymentId,
  findCompared: findRefundsOf,
  find: findRefund,
  walkMissing: walkMissingRefunds,
  judge: judgeRefund,
  judgeMissing: (ours, providerRefundId) => missingRefund({ ...ours, providerRefundId }),
  evidenceOf,
  eventOf: (ours, { providerPaymentId, standing }, { provider }, now) =>
    comparisonOfRefund(ours, { provider, providerPaymentId, status: standing?.status ?? '' }, now),
}

/** Compares refunds from before the window that wait for the provider. */
export async function compareWaitingRefunds(comparison: Comparison): Promise<void> {
  const { parts, run, counts } = comparison
  for await (const page of walkWaitingRefunds(parts.store.sql, run)) {
    for (const { providerRefundId } of untilStopped(comparison, page)) {
      if (providerRefundId === null) continue
      await compareObject(comparison, refundRecords, providerRefundId)
      counts.refunds += 1
    }
  }
}

/**
 * @param ours the refund that names the provider's, otherwise the refund that the provider's names.
 */
export function judgeRefund(ours: Refund | undefined, theirs: ProviderRefund): Verdict {
  const evidence = evidenceOf(ours, theirs)
  if (ours === undefined) return differsIn(['missing_here'], evidence)
  if (ours.status === 'unknown') return outcomeUnknown
  if (ours.providerRefundId !== theirs.providerRefundId) return judgeStray(ours, theirs, evidence)
  if (ours.status === 'processing') return inMotion
  const kinds: FindingKind[] = []
  if (ours.amountMinor !== theirs.amountMinor) kinds.push('amount_differs')
  if (ours.currency !== theirs.currency) kinds.push('currency_differs')
  if (kinds.length === 0 && theirs.standing !== undefined) {
    if (refundHasMovedOn(ours, theirs.standing)) return movedOn
  }
  // Versions before these statuses took a pending refund for a successful one.
  if (ours.status === 'succeeded' && isWaiting(theirs.standing)) return inMotion
  if (!agreesOnStatus(ours, theirs.standing)) kinds.push('status_differs')
  return differsIn(kinds, evidence)
}

function isWaiting(standing: RefundStanding | undefined): boolean {
  const waiting: readonly (string | undefined)[] = waitingRefundStatuses
  return waiting.includes(standing?.status)
}

function agreesOnStatus({ status }: Refund, standing: RefundStanding | undefined): boolean {
  // Both gave the customer nothing.
  if (status === 'declined') return standing !== undefined && hasReturned(standing)
  return status === standing?.status
}

/** Judges a provider's refund that names our refund, while ours does not name it. */
function judgeStray(
  ours: Refund,
  theirs: ProviderRefund,
  evidence: Omit<Difference, 'kind'>,
): Verdict {
  if (theirs.standing !== undefined && hasReturned(theirs.standing)) return agrees
  if (ours.providerRefundId !== null) return differsIn(['refunded_twice'], evidence)
  return ours.status === 'processing' ? inMotion : differsIn(['status_differs'], evidence)
}

/** Judges a refund of ours of which the provider has no record. */
export function missingRefund(ours: Refund & { providerRefundId: string }): Verdict {
  if (ours.status === 'unknown') return outcomeUnknown
  if (ours.status === 'processing') return inMotion
  const { providerRefundId: objectId } = ours
  const evidence = { objectId, subject: subjectOf(ours), ours: describeOurs(ours), theirs: null }
  return differsIn(['missing_there'], evidence)
}

function evidenceOf(ours: Refund | undefined, theirs: ProviderRefund): Omit<Difference, 'kind'> {
  return {
    objectId: theirs.providerRefundId,
    subject: ours === undefined ? null : subjectOf(ours),
    ours: ours === undefined ? null : describeOurs(ours),
    theirs: describeTheirs(theirs),
  }
}

function subjectOf({ tenantId, paymentId, id }: Refund) {
  return { tenantId, paymentId, refundId: id }
}

function describeOurs(refund: Refund): Record<string, unknown> {
  return {
    refund: showRefundId(refund.id),
    payment: showPaymentId(refund.paymentId),
    status: refund.status,
    amount: refund.amountMinor,
    currency: refund.currency,
    provider_refund_id: refund.providerRefundId,
  }
}

function describeTheirs(theirs: ProviderRefund): Record<string, unknown> {
  const refundId = theirs.correlation?.refundId ?? null
  return {
    status: theirs.standing?.status ?? 'undecided',
    amount: theirs.amountMinor,
    currency: theirs.currency,
    created_at: theirs.createdAt.toISOString(),
    provider_payment_id: theirs.providerPaymentId,
    ...(refundId === null ? {} : { refund: showRefundId(refundId) }),
    ...describeCorrelation(theirs.correlation),
  }
}
