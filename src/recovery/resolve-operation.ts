// Stores what an operator claims about an unknown outcome. It is evidence, not truth: the outcome
// resolver looks at the provider, and judges it.
import type { Transaction } from '../db/connection/client.ts'
import type { Evidence } from '../db/schema/idempotency-keys.ts'
import { requestCheckIfUnknown } from '../db/operations/unknown-outcomes.ts'
import type { OperationOverview } from '../db/operators/lists/operation-overviews.ts'

/** An operator's statement about an unknown outcome. */
export type Resolution =
  | { readonly outcome: 'happened'; readonly provider_id: string; readonly note: string }
  | {
      readonly outcome: 'did_not_happen'
      readonly proof: string
      readonly unverified?: boolean | undefined
    }

/** Who claims it. */
export interface Claimant {
  /** The operator, or both. */
  readonly by: string
  /** The public id of the entry of the audit trail. */
  readonly claim: string
}

/** Whether the operation creates a refund, so that its provider object is a refund. */
export function concernsRefund({ refundId }: Pick<OperationOverview, 'refundId'>): boolean {
  return refundId !== null
}

/**
 * Stores the claim, and requests a look-up at once. `happened`: the resolver looks up the
 * provider's id and completes the operation accordingly. `did_not_happen`: if the resolver finds
 * nothing, the operation runs again on its client's next retry. Returns false when the operation is
 * no longer unknown.
 */
export async function resolveIfUnknown(
  tx: Transaction,
  operation: OperationOverview,
  resolution: Resolution,
  claimant: Claimant,
): Promise<boolean> {
  return await requestCheckIfUnknown(tx, operation, evidenceOf(operation, resolution, claimant))
}

function evidenceOf(
  operation: OperationOverview,
  resolution: Resolution,
  { by, claim }: Claimant,
): Evidence {
  if (resolution.outcome === 'did_not_happen') {
    const { proof: note, unverified } = resolution
    return { claim, proved_absent: true, ...(unverified === true && { unverified }), by, note }
  }
  const { provider_id: id, note } = resolution
  const named = concernsRefund(operation) ? { provider_refund_id: id } : { provider_payment_id: id }
  return { claim, ...named, by, note }
}
