// Compares payments, one page of the provider at a time. A difference counts only if a second look
// at both sides still shows it, so that normal traffic never causes one.
import { findPaymentsOf, type ComparedId } from '../db/reconciliation/compared-records.ts'
import { findPayment } from '../db/payments/payments.ts'
import { recordCompared } from '../db/reconciliation/reconciliation-progress.ts'
import { walkMissingPayments } from '../db/reconciliation/missing-records.ts'
import { comparisonOf, comparisonOfSurplus } from '../domain/events/provider-event.ts'
import type { Payment } from '../domain/payments/payment.ts'
import { isSurplusHold } from '../domain/payments/standing.ts'
import type { PaymentProvider, ProviderPayment } from '../provider/payment-provider.ts'
import {
  countInMotion,
  eachPage,
  follow,
  nameTenants,
  report,
  requestCheck,
  throwIfEnded,
  untilStopped,
  type Comparison,
} from './comparison.ts'
import { evidenceOf, judgePayment, missingPayment } from './judge-payment.ts'
import type { Difference, Verdict } from './verdict.ts'

/** A record of the provider, and ours. */
interface Pair {
  readonly theirs: ProviderPayment
  readonly ours: Payment | undefined
}

/** Compares every payment that the provider created in the window with ours. */
export async function comparePayments(comparison: Comparison): Promise<void> {
  const { parts, run } = comparison
  const list: PaymentProvider['listPayments'] = (...args) => parts.provider.listPayments(...args)
  await eachPage(comparison, 'payments', list, async (page) => {
    await judgePage(comparison, page)
    await recordCompared(
      parts.store.sql,
      run.id,
      page.map(({ providerPaymentId }) => providerPaymentId),
    )
  })
}

/** Compares payments of ours from the window that no page contained with the provider's. */
export async function compareUnseenPayments(comparison: Comparison): Promise<void> {
  const { parts, run, counts } = comparison
  for await (const page of walkMissingPayments(parts.store.sql, run)) {
    await throwIfEnded(comparison)
    for (const ours of untilStopped(comparison, page)) {
      const { providerPaymentId } = ours
      if (providerPaymentId === null) {
        counts.in_motion += 1
        continue
      }
      const theirs = await parts.provider.readPayment(providerPaymentId)
      if (theirs === undefined) await actOnMissing(comparison, { ...ours, providerPaymentId })
      else await judgePage(comparison, [theirs])
      counts.payments += 1
    }
  }
}

/** Judges records of the provider, from a list or read one by one. */
export async function judgePage(
  comparison: Comparison,
  page: readonly ProviderPayment[],
): Promise<void> {
  const differences: Difference[] = []
  for (const pair of untilStopped(comparison, await pairUp(comparison, page))) {
    const verdict = judgePayment(pair.ours, pair.theirs)
    differences.push(...(await act(comparison, pair, verdict)))
  }
  await report(comparison, differences)
}

async function pairUp(
  { parts, run }: Comparison,
  page: readonly ProviderPayment[],
): Promise<Pair[]> {
  const payments = await findPaymentsOf(parts.store.sql, run.provider, page.map(comparedIdOf))
  const byProviderId = new Map(payments.map((payment) => [payment.providerPaymentId, payment]))
  const byOurId = new Map(payments.map((payment) => [payment.id, payment]))
  return page.map((theirs) => ({
    theirs,
    ours:
      byProviderId.get(theirs.providerPaymentId) ??
      byOurId.get(theirs.correlation?.paymentId ?? ''),
  }))
}

function comparedIdOf({ providerPaymentId, correlation }: ProviderPayment): ComparedId {
  const named = correlation && { tenantId: correlation.tenantId, id: correlation.paymentId }
  return { objectId: providerPaymentId, named }
}

/** Acts on a verdict, and returns the differences that need an operator. */
async function act(comparison: Comparison, pair: Pair, verdict: Verdict): Promise<Difference[]> {
  const { ours, theirs } = pair
  switch (verdict.verdict) {
    case 'agrees':
      return []
    case 'in_motion':
      await countInMotion(comparison, ours?.id)
      return []
    case 'unknown':
      if (ours !== undefined) await requestCheck(comparison, subjectOf(ours))
      return []
    case 'moved_on':
    case 'differs':
      // Our row is written before the provider is called, so a missing row will not appear later.
      return ours === undefined
        ? await nameTenants(comparison, missingIn(verdict, theirs))
        : await actOnSecondLook(comparison, ours, theirs)
  }
}

function missingIn(verdict: Verdict, theirs: ProviderPayment) {
  return verdict.verdict === 'differs'
    ? verdict.differences.map((difference) => ({ difference, theirs }))
    : []
}

function subjectOf({ tenantId, id }: Payment) {
  return { tenantId, paymentId: id }
}

/**
 * Reads the provider's record and then ours again. If ours has the same status as at the first
 * look, it did not change while the provider's was read, so a difference is not an effect of
 * reading at two moments.
 */
async function actOnSecondLook(
  comparison: Comparison,
  before: Payment,
  { providerPaymentId }: ProviderPayment,
): Promise<Difference[]> {
  const { provider, store, clock } = comparison.parts
  const theirs = await provider.readPayment(providerPaymentId)
  const ours = await findPayment(store.sql, before.tenantId, before.id)
  if (ours === undefined || theirs === undefined || ours.status !== before.status) {
    comparison.counts.in_motion += 1
    return []
  }
  const verdict = judgePayment(ours, theirs)
  switch (verdict.verdict) {
    case 'differs':
      return (await isReleased(comparison, ours, theirs)) ? [] : [...verdict.differences]
    case 'moved_on':
      return (await follow(
        comparison,
        comparisonOf(ours, theirs.standing?.status ?? '', clock.now()),
      ))
        ? []
        : [{ kind: 'status_differs', ...evidenceOf(ours, theirs) }]
    case 'agrees':
    case 'in_motion':
    case 'unknown':
      comparison.counts.in_motion += 1
      return []
  }
}

/** Makes `hold.release` release a hold that the payment does not use. */
async function isReleased(
  comparison: Comparison,
  ours: Payment,
  theirs: ProviderPayment,
): Promise<boolean> {
  if (!isSurplusHold(ours, theirs)) return false
  return await follow(comparison, comparisonOfSurplus(ours, theirs, comparison.parts.clock.now()))
}

async function actOnMissing(
  comparison: Comparison,
  ours: Payment & { providerPaymentId: string },
): Promise<void> {
  const verdict = missingPayment(ours)
  if (verdict.verdict === 'differs') await report(comparison, verdict.differences)
  else if (verdict.verdict === 'unknown') await requestCheck(comparison, subjectOf(ours))
  else comparison.counts.in_motion += 1
}
