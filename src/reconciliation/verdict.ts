// The verdicts of comparing a record of the provider with ours.
import type { FindingKind } from '../domain/operations/finding.ts'
import type { NewFinding } from '../db/reconciliation/findings.ts'

/** A difference, as far as the two records show it. */
export interface Difference extends Pick<NewFinding, 'objectId' | 'subject' | 'ours' | 'theirs'> {
  readonly kind: FindingKind
}

/**
 * `in_motion`: an operation is working on it, and only idle records can be compared. `unknown`: the
 * outcome of an operation is unknown, and the provider's record may resolve it. `moved_on`: the
 * provider is ahead of us, and the usual phases can follow. `differs`: an operator must look at it.
 */
export type Verdict =
  | { readonly verdict: 'agrees' | 'in_motion' | 'unknown' | 'moved_on' }
  | { readonly verdict: 'differs'; readonly differences: readonly Difference[] }

export const agrees: Verdict = { verdict: 'agrees' }
export const inMotion: Verdict = { verdict: 'in_motion' }
export const outcomeUnknown: Verdict = { verdict: 'unknown' }
export const movedOn: Verdict = { verdict: 'moved_on' }

/** One difference per kind, all with the same evidence. Without a kind the records agree. */
export function differsIn(
  kinds: readonly FindingKind[],
  evidence: Omit<Difference, 'kind'>,
): Verdict {
  if (kinds.length === 0) return agrees
  return { verdict: 'differs', differences: kinds.map((kind) => ({ kind, ...evidence })) }
}
