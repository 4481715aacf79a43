// Handles the movements on the provider's balance that are neither a capture nor a refund: counts
// those of the account, and reports every other one.
import { findPaymentsOf, type ComparedId } from '../db/reconciliation/compared-records.ts'
import type { OtherMovement } from '../provider/payment-provider.ts'
import { nameTenants, report, type Comparison } from './comparison.ts'
import { unknownMovement } from './judge-movement.ts'

export async function compareOtherMovements(
  comparison: Comparison,
  page: readonly OtherMovement[],
): Promise<void> {
  const { parts, run, counts } = comparison
  const unknown = page.filter(({ kind }) => kind === 'unknown')
  counts.account_movements += page.length - unknown.length
  const payments = await findPaymentsOf(
    parts.store.sql,
    run.provider,
    unknown.flatMap(comparedIdOf),
  )
  const byProviderId = new Map(payments.map((payment) => [payment.providerPaymentId, payment]))
  const missing = unknown.map((theirs) => ({
    theirs,
    difference: unknownMovement(theirs, byProviderId.get(theirs.providerPaymentId)),
  }))
  await report(comparison, await nameTenants(comparison, missing))
}

function comparedIdOf({ providerPaymentId }: OtherMovement): ComparedId[] {
  return providerPaymentId === null ? [] : [{ objectId: providerPaymentId, named: null }]
}
