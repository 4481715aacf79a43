// Compares refunds, in the same way as payments.
import { findRefundsOf, type ComparedId } from '../db/reconciliation/compared-records.ts'
import { recordCompared } from '../db/reconciliation/reconciliation-progress.ts'
import { walkMissingRefunds, walkWaitingRefunds } from '../db/reconciliation/missing-records.ts'
import { findRefund } from '../db/payments/refunds.ts'
import { comparisonOfRefund } from '../domain/events/provider-event.ts'
import type { Refund } from '../domain/payments/refund.ts'
import type { PaymentProvider, ProviderRefund } from '../provider/payment-provider.ts'
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
import { evidenceOf, judgeRefund, missingRefund } from './judge-refund.ts'
import type { Difference } from './verdict.ts'

/** Compares every refund that the provider created in the window with ours. */
export async function compareRefunds(comparison: Comparison): Promise<void> {
  const { parts, run } = comparison
  const list: PaymentProvider['listRefunds'] = (...args) => parts.provider.listRefunds(...args)
  await eachPage(comparison, 'refunds', list, async (page) => {
    await judgePage(comparison, page)
    await recordCompared(
      parts.store.sql,
      run.id,
      page.map(({ providerRefundId }) => providerRefundId),
    )
  })
}

/** Compares refunds of ours from the window that no page contained with the provider's. */
export async function compareUnseenRefunds(comparison: Comparison): Promise<void> {
  const { parts, run, counts } = comparison
  for await (const page of walkMissingRefunds(parts.store.sql, run)) {
    await throwIfEnded(comparison)
    for (const ours of untilStopped(comparison, page)) {
      const { providerRefundId } = ours
      if (providerRefundId === null) {
        counts.in_motion += 1
        continue
      }
      const theirs = await parts.provider.readRefund(providerRefundId)
      if (theirs === undefined) await actOnMissing(comparison, { ...ours, providerRefundId })
      else await judgePage(comparison, [theirs])
      counts.refunds += 1
    }
  }
}

/** Compares refunds from before the window that wait for the provider. */
export async function compareWaitingRefunds(comparison: Comparison): Promise<void> {
  const { parts, run, counts } = comparison
  for await (const page of walkWaitingRefunds(parts.store.sql, run)) {
    for (const { providerRefundId } of untilStopped(comparison, page)) {
      if (providerRefundId === null) continue
      await compareRefund(comparison, providerRefundId)
      counts.refunds += 1
    }
  }
}

/** Reads the provider's record of a refund, and compares it. */
export async function compareRefund(comparison: Comparison, id: string): Promise<void> {
  const theirs = await comparison.parts.provider.readRefund(id)
  if (theirs !== undefined) await judgePage(comparison, [theirs])
}

async function judgePage(comparison: Comparison, page: readonly ProviderRefund[]): Promise<void> {
  const { parts, run } = comparison
  const refunds = await findRefundsOf(parts.store.sql, run.provider, page.map(comparedIdOf))
  const byProviderId = new Map(refunds.map((refund) => [refund.providerRefundId, refund]))
  const byOurId = new Map(refunds.map((refund) => [refund.id, refund]))
  const differences: Difference[] = []
  for (const theirs of untilStopped(comparison, page)) {
    const ours =
      byProviderId.get(theirs.providerRefundId) ?? byOurId.get(theirs.correlation?.refundId ?? '')
    differences.push(...(await act(comparison, ours, theirs)))
  }
  await report(comparison, differences)
}

function comparedIdOf({ providerRefundId, correlation }: ProviderRefund): ComparedId {
  const refundId = correlation?.refundId ?? null
  const named = correlation && refundId && { tenantId: correlation.tenantId, id: refundId }
  return { objectId: providerRefundId, named: named || null }
}

/** Acts on a verdict, and returns the differences that need an operator. */
async function act(
  comparison: Comparison,
  ours: Refund | undefined,
  theirs: ProviderRefund,
): Promise<Difference[]> {
  const verdict = judgeRefund(ours, theirs)
  if (verdict.verdict === 'agrees') return []
  if (ours !== undefined && verdict.verdict === 'unknown') {
    await requestCheck(comparison, ours)
    return []
  }
  if (ours !== undefined && verdict.verdict === 'moved_on') {
    return await followChange(comparison, ours, theirs)
  }
  if (verdict.verdict !== 'differs') {
    await countInMotion(comparison, ours?.id)
    return []
  }
  // Our row is written before the provider is called, so a missing row will not appear later.
  return ours === undefined
    ? await nameTenants(
        comparison,
        verdict.differences.map((difference) => ({ difference, theirs })),
      )
    : await judgeAgain(comparison, ours, theirs)
}

/**
 * Reads the provider's record first, then ours, which must be unchanged: see `compare-payments.ts`.
 */
async function judgeAgain(
  comparison: Comparison,
  before: Refund,
  { providerRefundId }: ProviderRefund,
): Promise<Difference[]> {
  const { provider, store } = comparison.parts
  const theirs = await provider.readRefund(providerRefundId)
  const ours = await findRefund(store.sql, before.tenantId, before.id)
  if (ours !== undefined && theirs !== undefined && ours.status === before.status) {
    const verdict = judgeRefund(ours, theirs)
    if (verdict.verdict === 'differs') return [...verdict.differences]
  }
  comparison.counts.in_motion += 1
  return []
}

/** Makes `refund.follow` record the change. */
async function followChange(
  comparison: Comparison,
  ours: Refund,
  theirs: ProviderRefund,
): Promise<Difference[]> {
  const { parts, run } = comparison
  const status = theirs.standing?.status ?? ''
  const their = { provider: run.provider, providerPaymentId: theirs.providerPaymentId, status }
  const isFollowed = await follow(comparison, comparisonOfRefund(ours, their, parts.clock.now()))
  return isFollowed ? [] : [{ kind: 'status_differs', ...evidenceOf(ours, theirs) }]
}

async function actOnMissing(
  comparison: Comparison,
  ours: Refund & { providerRefundId: string },
): Promise<void> {
  const verdict = missingRefund(ours)
  if (verdict.verdict === 'differs') await report(comparison, verdict.differences)
  else if (verdict.verdict === 'unknown') await requestCheck(comparison, ours)
  else comparison.counts.in_motion += 1
}
