// Appends to the audit trail of operators, and reads it.
import type { Verdict } from '../../domain/operations/verdict.ts'
import { parseId } from '../../domain/resource-id.ts'
import type { Fragment, Sql, Transaction } from '../connection/client.ts'
import { listOf, matching, type Page, type PageRequest } from '../connection/pages.ts'
import { objectsOf, firstIdAt, nextId, NO_TENANT } from '../connection/rows.ts'
import type { adminActions } from '../schema/service.ts'

export interface NewAdminAction {
  /** From `makeActionId` in the same transaction, when something else names the entry. */
  readonly id?: string
  /** The operator, or the part of the service that answers one. */
  readonly actor: string
  readonly action: string
  /**
   * The id of the resource that the action concerned, in the form that the API shows; null when it
   * concerned none.
   */
  readonly subject: string | null
  readonly details: Readonly<Record<string, unknown>>
}

export type AdminAction = Readonly<typeof adminActions.$inferSelect>

const idOfAction = (sql: Sql | Transaction): Fragment =>
  nextId(sql, 'admin_actions', sql`${NO_TENANT}::uuid`)

/** Makes the id of an entry that the same transaction appends. */
export async function makeActionId(tx: Transaction): Promise<string> {
  const [row] = await tx<{ id: string }[]>`select ${idOfAction(tx)} as id`
  if (row === undefined) throw new Error('the statement returned no row')
  return row.id
}

/** Appends an action of an operator to the audit trail. */
export async function appendAdminAction(
  sql: Sql | Transaction,
  { id, actor, action, subject, details }: NewAdminAction,
): Promise<void> {
  await sql`
    insert into admin_actions (id, actor, action, subject, details)
    values (
      ${id === undefined ? idOfAction(sql) : sql`${id}`}, ${actor}, ${action}, ${subject}, ${JSON.stringify(details)}::jsonb
    )
  `
}

/** Lists the actions of operators, newest first. Undefined when none has the cursor's id. */
export const listAdminActions = (
  sql: Sql,
  filter: { actor?: string | undefined; subject?: string | undefined },
  request: PageRequest,
): Promise<Page<AdminAction> | undefined> => {
  const ordered = { table: 'admin_actions' } as const
  return listOf(sql, undefined, { ...ordered, ordered, filters: matching(sql, filter) }, request)
}

/** The action of stating the outcome of an operation. */
export const RESOLUTION = 'operation.resolve'

/** The action of judging such a statement by the look-up that followed. */
export const VERDICT = `${RESOLUTION}.verdict`

/** The action of proposing. A second operator confirms a proposal from the audit trail. */
export const PROPOSAL = `${RESOLUTION}.propose`

/** How long a proposal waits for a second operator. */
export const PROPOSAL_HOURS = 24

/**
 * The last valid proposal about an operation: recent, and made since the outcome became unknown.
 * `same` tells whether it proposes exactly `proposed`.
 */
export async function findLastProposal(
  tx: Transaction,
  subject: string,
  { proposed, since }: { proposed: Readonly<Record<string, unknown>>; since: Date },
): Promise<{ actor: string; same: boolean } | undefined> {
  const [row] = await tx<{ actor: string; same: boolean }[]>`
    select actor, details -> 'proposed' = ${JSON.stringify(proposed)}::jsonb as same
    from admin_actions
    where subject = ${subject} and action = ${PROPOSAL}
      and details ? 'proposed'
      and happened_at > now() - ${PROPOSAL_HOURS} * interval '1 hour'
      and happened_at >= ${since.toISOString()}
    order by happened_at desc, id desc
    limit 1
  `
  return row
}

/** A proposal about an operation that waits for a second operator. */
export interface OpenProposal {
  readonly operationId: string
  readonly actor: string
  readonly proposed: Readonly<Record<string, unknown>>
  readonly proposedAt: Date
}

/** More than operators make in the time of a proposal. */
const PROPOSALS_MAX = 200

/** For clocks that differ: the ids are of the clocks of processes, the times of the database's. */
const CLOCKS_DIFFER_MS = 60_000

/**
 * The last proposal about each operation, newest first, unless it is too old or was confirmed. One
 * that was confirmed waits again when the look-up could not be made. An outcome that has become known
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

/** What an operator claimed about an operation, and the verdict. */
export interface ClaimedResolution {
  /** The public id of the entry with the claim. */
  readonly claim: string
  readonly claimedBy: string
  readonly proposedBy: string | null
  readonly claimed: Readonly<Record<string, unknown>>
  readonly claimedAt: Date
  /** Null until a worker has looked. */
  readonly verdict: {
    readonly verdict: Verdict
    readonly taken: boolean
    readonly shown: string
    /** What followed, in words. */
    readonly effect: string
  } | null
}

/** The last claim about the outcome of an operation, with its verdict. */
export async function findLastResolution(
  sql: Sql,
  subject: string,
): Promise<ClaimedResolution | undefined> {
  const found = await sql`
    select
      claim.details ->> 'claim' as claim, claim.actor as claimed_by,
      claim.details ->> 'proposed_by' as proposed_by, claim.details -> 'resolution' as claimed,
      claim.happened_at as claimed_at, verdict.details as verdict
    from admin_actions as claim
    left join admin_actions as verdict
      on verdict.subject = claim.subject and verdict.action = ${VERDICT}
      and verdict.details ->> 'claim' = claim.details ->> 'claim'
    where claim.subject = ${subject} and claim.action = ${RESOLUTION} and claim.details ? 'claim'
    order by claim.happened_at desc, claim.id desc
    limit 1
  `
  return objectsOf<ClaimedResolution>(found)[0]
}
