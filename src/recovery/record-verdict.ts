// Records the verdict on an operator's claim in the audit trail: by the look-up that followed, and
// in the transaction that acts on it. A claim is judged once.
import type { Transaction } from '../db/connection/client.ts'
import type { Evidence } from '../db/operations/evidence.ts'
import { dropEvidenceIfSame, type DueCheck } from '../db/operations/unknown-outcomes.ts'
import { appendAdminAction, VERDICT } from '../db/operators/admin-actions.ts'
import { SERVICE_ACTOR } from '../db/reconciliation/findings.ts'
import type { Outcome } from '../domain/operations/outcome.ts'
import { effectOf } from '../domain/operations/doubt-sentences.ts'
import { describeShown, judgeClaim, type Claimed } from '../domain/operations/verdict.ts'
import { showId } from '../domain/resource-id.ts'
import type { Absence } from './absence.ts'

/**
 * Does nothing for a check without a claim.
 *
 * @param outcome what the look-up found.
 * @param absence set when the call counts as not executed.
 */
export async function recordVerdict(
  tx: Transaction,
  check: Pick<DueCheck, 'tenantId' | 'id' | 'evidence'>,
  outcome: Outcome<unknown> | undefined,
  absence?: Pick<Absence, 'keepsDoubt'>,
): Promise<void> {
  const { evidence } = check
  if (evidence === null) return
  await dropEvidenceIfSame(tx, check, evidence)
  const claimed = claimedBy(evidence)
  const verdict = judgeClaim(claimed, outcome)
  const isActedOnUnseen = absence !== undefined && outcome?.outcome === 'unknown'
  await appendAdminAction(tx, {
    actor: SERVICE_ACTOR,
    action: VERDICT,
    subject: showId('op', check.id),
    details: {
      claim: evidence.claim,
      claimed_by: evidence.by,
      verdict,
      taken: isActedOnUnseen || verdict === 'verified',
      shown: describeShown(outcome),
      effect: effectOf({
        outcome: claimed === 'did_not_happen' ? claimed : 'happened',
        verdict,
        found: outcome,
        absence,
      }),
      found: outcome?.answered ?? null,
    },
  })
}

function claimedBy(evidence: Evidence): Claimed {
  const providerId = evidence.provider_refund_id ?? evidence.provider_payment_id
  return providerId === undefined ? 'did_not_happen' : { providerId }
}
