// Stores an operator's evidence about an unknown outcome. Evidence is not simply believed: before
// the outcome resolver acts on it, it looks at the provider once more.
import type { Transaction } from '../db/connection/client.ts'
import { requestCheckIfUnknown, type Evidence } from '../db/operations/unknown-outcomes.ts'
import type { OperationOverview } from '../db/operators/operation-overviews.ts'

/** An operator's statement about an unknown outcome. */
export type Resolution =
  | { readonly outcome: 'happened'; readonly provider_id: string; readonly note: string }
  | { readonly outcome: 'did_not_happen'; readonly proof: string }

/** Whether the operation creates a refund, so that its provider object is a refund. */
export function concernsRefund({ refundId }: Pick<OperationOverview, 'refundId'>): boolean {
  return refundId !== null
}

/**
 * Stores the evidence, and requests a look-up at once. `happened`: the resolver looks up the
 * provider's id and completes the operation accordingly. `did_not_happen`: unless the resolver
 * finds something, the operation runs again on its client's next retry. Returns false when the
 * operation is no longer unknown.
 *
 * @param by the operator.
 */
export async function resolveIfUnknown(
  tx: Transaction,
  operation: OperationOverview,
  resolution: Resolution,
  by: string,
): Promise<boolean> {
  return await requestCheckIfUnknown(tx, operation, evidenceOf(operation, resolution, by))
}

function evidenceOf(operation: OperationOverview, resolution: Resolution, by: string): Evidence {
  if (resolution.outcome === 'did_not_happen') {
    return { proved_absent: true, by, note: resolution.proof }
  }
  const { provider_id: id, note } = resolution
  const named = concernsRefund(operation) ? { provider_refund_id: id } : { provider_payment_id: id }
  return { ...named, by, note }
}
