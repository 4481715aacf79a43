// What comes of holding a record of the provider's against ours.
import type { FindingKind } from '../domain/operations/finding.ts'
import type { NewFinding } from '../db/reconciliation/findings.ts'

/** A difference, as far as the records themselves tell it. */
export interface Difference extends Pick<NewFinding, 'objectId' | 'subject' | 'ours' | 'theirs'> {
  readonly kind: FindingKind
}

/**
 * `in_motion`: an operation works on it, and only what has come to rest can be compared. `unknown`: the
 * outcome of an operation is unknown, and what was seen may settle it. `moved_on`: the provider is ahead
 * of us, which the usual phases can follow. `differs`: a person has to look.
 */
export type Verdict =
  | { readonly verdict: 'agrees' | 'in_motion' | 'unknown' | 'moved_on' }
  | { readonly verdict: 'differs'; readonly differences: readonly Difference[] }

export const agrees: Verdict = { verdict: 'agrees' }
export const inMotion: Verdict = { verdict: 'in_motion' }
export const outcomeUnknown: Verdict = { verdict: 'unknown' }
export const movedOn: Verdict = { verdict: 'moved_on' }

/** One finding for each kind of difference, with the same evidence; without a kind, agreement. */
export function differsIn(
  kinds: readonly FindingKind[],
  evidence: Omit<Difference, 'kind'>,
): Verdict {
  if (kinds.length === 0) return agrees
  return { verdict: 'differs', differences: kinds.map((kind) => ({ kind, ...evidence })) }
}
