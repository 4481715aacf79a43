// Posts the provider's fees to the ledger. Only the provider's balance tells them, which a
// reconciliation reads: the answer to a capture has no fee, and even the movement of an asynchronous
// capture can be missing for an hour.
import { insertProviderFeesIfNew, type NewProviderFee } from '../db/ledger/ledger.ts'
import type { LedgerMovement } from '../db/ledger/ledger-movements.ts'
import { postingOfProviderFee } from '../domain/ledger/ledger.ts'
import type { ProviderMovement } from '../provider/payment-provider.ts'
import type { Comparison } from './comparison.ts'

/** A movement of the provider, and the one in the ledger to which it belongs. */
interface Pair {
  readonly movement: ProviderMovement
  readonly ours: Pick<LedgerMovement, 'kind' | 'tenantId' | 'paymentId' | 'refundId'> | undefined
}

/** Posts the fee of each movement once, however often it is compared. */
export async function postProviderFees(
  { parts, counts }: Comparison,
  pairs: readonly Pair[],
): Promise<void> {
  const fees = pairs.flatMap(feeOf)
  counts.fees += await insertProviderFeesIfNew(parts.store.sql, fees)
}

function feeOf({ movement: { fee, providerDisputeId }, ours }: Pair): NewProviderFee[] {
  const posting = postingOfProviderFee(fee.amountMinor)
  // `dispute.follow` posts the fee of a dispute, with what the dispute moves.
  if (ours === undefined || posting === undefined || providerDisputeId !== null) return []
  const { kind, tenantId, paymentId, refundId } = ours
  return [{ of: kind, tenantId, paymentId, refundId, currency: fee.currency, posting }]
}
