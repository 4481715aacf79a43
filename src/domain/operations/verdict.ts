// Judges what an operator claimed about an unknown outcome, by the look-up that followed.
import { isFinalOutcome, type Outcome } from './outcome.ts'

/**
 * `verified`: the provider shows what was claimed. `contradicted`: the provider shows something
 * else. `unverifiable`: the provider did not answer.
 */
export const verdicts = ['verified', 'contradicted', 'unverifiable'] as const
export type Verdict = (typeof verdicts)[number]

/** What was claimed: the provider's id of the object, or that the call did not happen. */
export type Claimed = { readonly providerId: string } | 'did_not_happen'

/**
 * A look-up that was answered and does not confirm the claim contradicts it, so that a claim is
 * never taken although the provider shows anything else.
 *
 * @param outcome what the look-up found; undefined when the phase makes no provider call.
 */
export function judgeClaim(claimed: Claimed, outcome: Outcome<unknown> | undefined): Verdict {
  if (outcome === undefined) return 'contradicted'
  if (!wasAnswered(outcome)) return 'unverifiable'
  const isConfirmed =
    claimed === 'did_not_happen'
      ? outcome.outcome === 'not_executed'
      : isFinalOutcome(outcome) && Object.values(outcome.answered).includes(claimed.providerId)
  return isConfirmed ? 'verified' : 'contradicted'
}

/** Whether the provider answered the look-up. */
export function wasAnswered({ outcome, answered }: Outcome<unknown>): boolean {
  return outcome !== 'unknown' || answered['looked'] !== false
}

/** A sentence about what the look-up showed. */
export function describeShown(outcome: Outcome<unknown> | undefined): string {
  if (outcome === undefined) return 'the step makes no provider call'
  if (outcome.outcome === 'done') return 'it happened'
  return outcome.outcome === 'declined'
    ? `it was refused: ${outcome.failure.message}`
    : outcome.reason
}
