// What a person knows of an unknown outcome. None of it is simply believed: it is kept as evidence, and
// the reconciler looks at the provider once more before it acts on it.
import type { Transaction } from '../db/connection/client.ts'
import { requestCheckIfUnknown, type Evidence } from '../db/operations/unknown-outcomes.ts'
import type { OperationOverview } from '../db/operators/operation-overviews.ts'

/** What a person says of an unknown outcome. */
export type Resolution =
  | { readonly outcome: 'happened'; readonly provider_id: string; readonly note: string }
  | { readonly outcome: 'did_not_happen'; readonly proof: string }

/** Whether the operation makes a refund, so that what has happened is one. */
export function concernsRefund({ refundId }: Pick<OperationOverview, 'refundId'>): boolean {
  return refundId !== null
}

/**
 * Keeps what was said, and has the operation looked up at once. `happened`: by the provider's id, and
 * finished as found. `did_not_happen`: unless something is found, the operation runs again at its
 * client's next retry. False when the operation is not unknown any more.
 *
 * @param by who says so.
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
