// Compares disputes: those that the provider opened in the window, and ours that are not closed. One
// that is ahead of ours, or that we do not have, is followed like an event of the provider.
import { hash } from 'node:crypto'
import { findDisputesOf, findPaymentsOf } from '../db/reconciliation/compared-records.ts'
import { walkOpenDisputes } from '../db/reconciliation/missing-records.ts'
import { comparisonOfDispute } from '../domain/events/provider-event.ts'
import {
  showDisputeId,
  type Dispute,
  type DisputeStanding,
  disputeHasMovedOn,
} from '../domain/payments/dispute.ts'
import { showPaymentId, type Payment } from '../domain/payments/payment.ts'
import type { ProviderDispute } from '../provider/payment-provider.ts'
import {
  follow,
  logRepeats,
  nameTenants,
  patiently,
  report,
  throwIfEnded,
  untilStopped,
  type Comparison,
} from './comparison.ts'
import type { Difference } from './verdict.ts'

/** Compares every dispute that the provider opened in the window with ours. */
export async function compareDisputes(comparison: Comparison): Promise<void> {
  const { parts, run } = comparison
  for await (const page of parts.provider.listDisputes(run, logRepeats(comparison))) {
    await throwIfEnded(comparison)
    for (const theirs of untilStopped(comparison, page)) await judge(comparison, theirs)
  }
}

/** Compares our disputes that are not closed. */
export async function compareOpenDisputes(comparison: Comparison): Promise<void> {
  const { parts, run } = comparison
  for await (const page of walkOpenDisputes(parts.store.sql, run)) {
    for (const { providerDisputeId } of untilStopped(comparison, page)) {
      await compareDispute(comparison, providerDisputeId)
    }
  }
}

/** Reads the provider's record of a dispute, and compares it. */
export async function compareDispute(comparison: Comparison, id: string): Promise<void> {
  const theirs = await patiently(comparison, () => comparison.parts.provider.readDispute(id))
  if (theirs !== undefined) await judge(comparison, theirs)
}

async function judge(comparison: Comparison, theirs: ProviderDispute): Promise<void> {
  const { parts, run } = comparison
  const { providerDisputeId, standing } = theirs
  const [ours] = await findDisputesOf(parts.store.sql, run.provider, [providerDisputeId])
  if (standing !== undefined && ours !== undefined && !disputeHasMovedOn(ours, standing)) return
  const payment = await findPayment(comparison, theirs)
  if (payment === undefined) return await reportMissing(comparison, theirs)
  if (standing !== undefined && (await followStanding(comparison, theirs, standing, ours))) return
  await report(comparison, [{ kind: 'status_differs', ...evidenceOf(theirs, payment, ours) }])
}

/** Our payment that names the provider's. */
async function findPayment(
  { parts, run }: Comparison,
  { providerPaymentId: objectId }: ProviderDispute,
): Promise<Payment | undefined> {
  if (objectId === null) return undefined
  const wanted = [{ objectId, named: null }]
  return (await findPaymentsOf(parts.store.sql, run.provider, wanted))[0]
}

/** Makes `dispute.follow` record the standing. */
async function followStanding(
  comparison: Comparison,
  { providerDisputeId, providerPaymentId }: ProviderDispute,
  standing: DisputeStanding,
  ours: Dispute | undefined,
): Promise<boolean> {
  const { run, parts } = comparison
  // One event for each change: any member can be what has changed, and can change back.
  const change = JSON.stringify({ from: ours ?? null, to: standing })
  const state = `${standing.status}_${hash('sha256', change).slice(0, 16)}`
  const theirs = { providerDisputeId, providerPaymentId, state }
  return await follow(comparison, comparisonOfDispute(run.provider, theirs, parts.clock.now()))
}

async function reportMissing(comparison: Comparison, theirs: ProviderDispute): Promise<void> {
  const difference: Difference = { kind: 'missing_here', ...evidenceOf(theirs) }
  await report(comparison, await nameTenants(comparison, [{ difference, theirs }]))
}

function evidenceOf(
  theirs: ProviderDispute,
  payment?: Payment,
  ours?: Dispute,
): Omit<Difference, 'kind'> {
  const { standing } = theirs
  return {
    objectId: theirs.providerDisputeId,
    subject: payment === undefined ? null : { tenantId: payment.tenantId, paymentId: payment.id },
    ours:
      ours === undefined
        ? null
        : {
            dispute: showDisputeId(ours.id),
            payment: showPaymentId(ours.paymentId),
            status: ours.status,
            amount: ours.amountMinor,
            currency: ours.currency,
          },
    theirs: {
      kind: 'dispute',
      status: standing?.status ?? 'none that is known here',
      amount: standing?.amountMinor ?? null,
      currency: standing?.currency ?? null,
      created_at: theirs.createdAt.toISOString(),
      provider_payment_id: theirs.providerPaymentId,
    },
  }
}
