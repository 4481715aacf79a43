// How refunds are compared, and the refunds from before the window that wait for the provider.
import { findRefund } from '../db/payments/refunds.ts'
import { findRefundsOf } from '../db/reconciliation/compared-records.ts'
import { walkMissingRefunds, walkWaitingRefunds } from '../db/reconciliation/missing-records.ts'
import { comparisonOfRefund } from '../domain/events/provider-event.ts'
import type { Refund } from '../domain/payments/refund.ts'
import type { ProviderRefund } from '../provider/payment-provider.ts'
import { compareObject, type RecordKind } from './compare-records.ts'
import { untilStopped, type Comparison } from './comparison.ts'
import { evidenceOf, judgeRefund, missingRefund } from './judge-refund.ts'

export const refunds: RecordKind<Refund, ProviderRefund> = {
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
      await compareObject(comparison, refunds, providerRefundId)
      counts.refunds += 1
    }
  }
}
