// Reads from the audit trail what operators proposed and claimed about unknown outcomes, and the verdicts.
import { RESOLUTION, VERDICT } from '../../db/operators/admin-actions.ts'
import type { Sql, Transaction } from '../../db/connection/client.ts'
import { firstIdAt, objectsOf } from '../../db/connection/rows.ts'
import type { Verdict } from '../../domain/operations/doubt-sentences.ts'
import { parseId, showId } from '../../domain/resource-id.ts'

/** What all statements about an outcome have. */
export interface Claim {
  readonly outcome: 'happened' | 'did_not_happen'
  /** Whether it is acted on even if no lookup is answered. */
  readonly unverified?: boolean | undefined
}

/** The action of proposing. A second operator confirms a proposal from the audit trail. */
export const PROPOSAL = `${RESOLUTION}.propose`

/** How long a proposal waits for a second operator. */
export const PROPOSAL_HOURS = 24

/**
 * Returns the operator who made the last proposal about an operation, recently and since its outcome became
 * unknown. Undefined when there is none, or when it proposes anything else.
 */
export async function findProposer(
  tx: Transaction,
  operationId: string,
  proposed: Claim,
  unknownAt: Date,
): Promise<string | undefined> {
  const [last] = await tx<{ actor: string; same: boolean }[]>`
    select actor, details -> 'proposed' = ${JSON.stringify(proposed)}::jsonb as same
    from admin_actions
    where subject = ${showId('op', operationId)} and action = ${PROPOSAL}
      and details ? 'proposed'
      and happened_at > now() - ${PROPOSAL_HOURS} * interval '1 hour'
      and happened_at >= ${unknownAt.toISOString()}
    order by happened_at desc, id desc
    limit 1
  `
  return last?.same === true ? last.actor : undefined
}

/** A proposal about an operation that waits for a second operator. */
export interface OpenProposal {
  readonly operationId: string
  readonly actor: string
  readonly proposed: Claim
  readonly proposedAt: Date
}

/** More than operators make in the time of a proposal. */
const PROPOSALS_MAX = 200

/** For clocks that differ: the ids are of the clocks of processes, the times of the database's. */
const CLOCKS_DIFFER_MS = 60_000

/**
 * The last proposal about each operation, newest first, unless it is too old or was confirmed. One
 * that was confirmed waits again when the lookup could not be made. An outcome that has become known
 * since, or unknown once more, ends a proposal, too: that is for the caller to compare.
 */
export async function listOpenProposals(
  sql: Sql | Transaction,
  now: Date,
): Promise<OpenProposal[]> {
  const oldest = firstIdAt(now.getTime() - PROPOSAL_HOURS * 3_600_000 - CLOCKS_DIFFER_MS)
  const open = await sql`
    with recent as (
      select id, subject, actor, action, details, happened_at from admin_actions
      where id >= ${oldest} and happened_at > now() - ${PROPOSAL_HOURS} * interval '1 hour'
        and action in (${PROPOSAL}, ${RESOLUTION}, ${VERDICT})
    ),
    last as (
      select distinct on (subject) subject, actor, details -> 'proposed' as proposed, happened_at
      from recent
      where action = ${PROPOSAL} and details ? 'proposed'
      order by subject, happened_at desc, id desc
    )
    select last.subject, last.actor, last.proposed, last.happened_at as proposed_at
    from last
    where not exists (
      select from recent as claim
      left join recent as verdict
        on verdict.action = ${VERDICT} and verdict.details ->> 'claim' = claim.details ->> 'claim'
      where claim.action = ${RESOLUTION} and claim.details ? 'claim'
        and claim.subject = last.subject and claim.happened_at >= last.happened_at
        and verdict.details ->> 'verdict' is distinct from 'unverifiable'
    )
    order by last.happened_at desc
    limit ${PROPOSALS_MAX}
  `
  return objectsOf<Omit<OpenProposal, 'operationId'> & { subject: string }>(open).flatMap(
    ({ subject, ...proposal }) => {
      const operationId = parseId('op', subject)
      return operationId === undefined ? [] : [{ ...proposal, operationId }]
    },
  )
}

/** What an operator claimed about an operation, and the verdict: null until a worker has looked. */
export interface ClaimedResolution {
  /** The public id of the entry with the claim. */
  readonly claim: string
  readonly claimedBy: string
  readonly proposedBy: string | null
  readonly claimed: Readonly<Record<string, unknown>>
  readonly claimedAt: Date
  readonly verdict: Verdict | null
  readonly taken: boolean | null
  readonly shown: string | null
  /** What followed, in words. */
  readonly effect: string | null
}

/** The last claim about the outcome of an operation, with its verdict. */
export async function findLastResolution(
  sql: Sql,
  operationId: string,
): Promise<ClaimedResolution | undefined> {
  const found = await sql`
    select
      claim.details ->> 'claim' as claim, claim.actor as claimed_by,
      claim.details ->> 'proposed_by' as proposed_by, claim.details -> 'resolution' as claimed,
      claim.happened_at as claimed_at, verdict.details ->> 'verdict' as verdict,
      (verdict.details ->> 'taken')::boolean as taken, verdict.details ->> 'shown' as shown,
      verdict.details ->> 'effect' as effect
    from admin_actions as claim
    left join admin_actions as verdict
      on verdict.subject = claim.subject and verdict.action = ${VERDICT}
      and verdict.details ->> 'claim' = claim.details ->> 'claim'
    where claim.subject = ${showId('op', operationId)}
      and claim.action = ${RESOLUTION} and claim.details ? 'claim'
    order by claim.happened_at desc, claim.id desc
    limit 1
  `
  return objectsOf<ClaimedResolution>(found)[0]
}
