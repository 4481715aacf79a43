// How payments are compared, and the provider's events that were never processed: events whose job was
// lost get a new one, and the payments of unmatched events are read from the provider and compared.
import {
  listUnmatchedEvents,
  requeueStaleEvents,
  type UnmatchedEvent,
} from '../db/events/provider-events.ts'
import { findPayment } from '../db/payments/payments.ts'
import { findPaymentsOf } from '../db/reconciliation/compared-records.ts'
import { walkMissingPayments } from '../db/reconciliation/missing-records.ts'
import { recordCompared, notComparedAmong } from '../db/reconciliation/reconciliation-progress.ts'
import { comparisonOf, comparisonOfSurplus, REMINDER } from '../domain/events/provider-event.ts'
import type { Payment } from '../domain/payments/payment.ts'
import { isSurplusHold } from '../domain/payments/standing.ts'
import type { ProviderPayment } from '../provider/payment-provider.ts'
import { compareObject, type RecordKind } from './compare-records.ts'
import { throwIfEnded, untilStopped, type Comparison } from './comparison.ts'
import { evidenceOf, judgePayment, missingPayment } from './judge-payment.ts'

export const payments: RecordKind<Payment, ProviderPayment> = {
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

export async function requeueEvents({ parts, run, counts }: Comparison): Promise<void> {
  counts.requeued += await requeueStaleEvents(parts.store.sql, run.provider, REMINDER)
}

/** Judges the payments of the window's unmatched events, unless a page contained them. */
export async function compareUnmatchedEvents(comparison: Comparison): Promise<void> {
  const { parts, run } = comparison
  const { sql } = parts.store
  let last: UnmatchedEvent | undefined
  for (;;) {
    const page = await listUnmatchedEvents(sql, run, last)
    const ids = page.map(({ providerPaymentId }) => providerPaymentId)
    const missed = await notComparedAmong(sql, run.id, ids)
    await throwIfEnded(comparison)
    for (const id of untilStopped(comparison, missed)) {
      await compareObject(comparison, payments, id)
      await recordCompared(sql, run.id, [id])
    }
    last = page.at(-1)
    if (last === undefined) return
  }
}
