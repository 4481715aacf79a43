// Judges what operators claim about unknown outcomes, after the outcome resolver has looked at the provider,
// and records the verdict.
import type { Transaction } from '../db/connection/client.ts'
import { appendAdminAction, VERDICT } from '../db/operators/admin-actions.ts'
import { SERVICE_ACTOR } from '../db/operations/findings.ts'
import type { Evidence } from '../db/schema/idempotency-keys.ts'
import { effectOf, describeShown, judgeClaim } from '../domain/operations/doubt-sentences.ts'
import type { OperationRef } from '../domain/operations/operation.ts'
import type { Outcome } from '../domain/operations/outcome.ts'
import { showId } from '../domain/resource-id.ts'
import type { Absence } from './absence.ts'
import type { DueCheck } from './due-checks.ts'

/** Drops an operator's statement that was judged, unless another one has replaced it. */
export async function dropEvidenceIfSame(
  tx: Transaction,
  { tenantId, id }: OperationRef,
  evidence: Evidence,
): Promise<void> {
  await tx`
    update idempotency_keys set evidence = null
    where tenant_id = ${tenantId} and id = ${id}
      and status = 'unknown' and evidence = ${JSON.stringify(evidence)}::jsonb
  `
}

/**
 * Does nothing for a check without an operator's statement.
 *
 * @param outcome what the lookup found.
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
  const providerId = evidence.provider_refund_id ?? evidence.provider_payment_id
  const claimed = providerId === undefined ? 'did_not_happen' : { providerId }
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
