// What an operator can claim about an unknown outcome, and what follows from it.
import type { OperationOverview } from '../../db/operators/lists/operation-overviews.ts'
import {
  consequencesOf,
  type Consequences,
  type Doubt,
} from '../../domain/operations/doubt-sentences.ts'
import type { Resolution } from '../../recovery/resolve-operation.ts'
import type { ApiParts } from '../endpoint.ts'
import { callOf, isInKeyWindow } from './operations-show.ts'

type Claimable = Pick<Doubt, 'outcome' | 'unverified'>

const CLAIMABLE: readonly Claimable[] = [
  { outcome: 'happened', unverified: false },
  { outcome: 'did_not_happen', unverified: false },
  { outcome: 'did_not_happen', unverified: true },
]

/** Without dual control only a claim that no look-up verifies needs two operators. */
export function needsTwo({ settings }: ApiParts, unverified: boolean): boolean {
  return settings.ADMIN_DUAL_CONTROL || unverified
}

/** Whether the settings have another operator, besides viewers. */
export function hasAnotherOperator({ settings }: ApiParts, operator: string): boolean {
  const others = settings.ADMIN_API_KEY?.filter(({ name }) => name !== operator) ?? []
  return others.some(({ role }) => role === 'operator')
}

export function isUnverified(resolution: Readonly<Record<string, unknown>> | Resolution): boolean {
  return 'unverified' in resolution && resolution.unverified === true
}

/** What the operator can claim; null when the outcome is not unknown. */
export function presentClaims(
  parts: ApiParts,
  operation: OperationOverview,
  operator: string,
): readonly object[] | null {
  if (operation.status !== 'unknown') return null
  return CLAIMABLE.map((claim) => ({
    ...claim,
    needs_second_operator: needsTwo(parts, claim.unverified),
    consequences: consequences(parts, operation, claim, hasAnotherOperator(parts, operator)),
  }))
}

/** What follows when the second operator confirms a proposal. */
export function consequencesOfProposal(
  parts: ApiParts,
  operation: OperationOverview,
  proposed: Readonly<Record<string, unknown>> | Resolution,
): Consequences {
  const outcome = proposed.outcome === 'happened' ? 'happened' : 'did_not_happen'
  return consequences(parts, operation, { outcome, unverified: isUnverified(proposed) }, true)
}

function consequences(
  parts: ApiParts,
  operation: OperationOverview,
  claim: Claimable,
  hasAnother: boolean,
): Consequences {
  return consequencesOf({
    ...claim,
    call: callOf(parts, operation),
    isInKeyWindow: isInKeyWindow(parts, operation),
    needsTwo: needsTwo(parts, claim.unverified),
    hasAnother,
  })
}
