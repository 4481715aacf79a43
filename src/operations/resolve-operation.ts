// Ends the doubt about an unknown outcome by what a person knows. What is said to have happened is not
// believed but looked up; only that nothing has happened is taken from a person, with the proof.
import type { Transaction } from '../db/client.ts'
import { askForCheckIfUnknown } from '../db/unknown-outcomes.ts'
import type { OperationOverview } from '../db/operation-overviews.ts'
import { concludeAbsentIn } from './check-unknown.ts'

/** What a person says of an unknown outcome. */
export type Resolution =
  | { readonly outcome: 'happened'; readonly provider_id: string; readonly note: string }
  | { readonly outcome: 'did_not_happen'; readonly proof: string }

/** Whether the operation makes a refund, so that what has happened is one. */
export function concernsRefund({ refundId }: Pick<OperationOverview, 'refundId'>): boolean {
  return refundId !== null
}

/**
 * `happened`: keeps the provider's id as evidence, and has it looked up by a worker, which goes on by the
 * usual phases. `did_not_happen`: the operation runs again at its client's next retry. False when the
 * operation is not unknown any more.
 *
 * @param by who says so.
 */
export async function resolveIfUnknown(
  tx: Transaction,
  operation: OperationOverview,
  resolution: Resolution,
  { by, leaseMs }: { by: string; leaseMs: number },
): Promise<boolean> {
  if (resolution.outcome === 'did_not_happen') {
    return await concludeAbsentIn(tx, operation, `proved absent by ${by}`, leaseMs)
  }
  const { provider_id: id, note } = resolution
  const named = concernsRefund(operation) ? { provider_refund_id: id } : { provider_payment_id: id }
  return await askForCheckIfUnknown(tx, operation, { ...named, by, note })
}
