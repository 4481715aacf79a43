// Opens, reads and resolves findings: each difference is one finding, which is closed when it is
// resolved.
import { randomUUIDv7 } from 'node:crypto'
import { explainingKinds, type FindingStatus } from '../../domain/operations/finding.ts'
import type { Sql, Transaction } from '../connection/client.ts'
import { listOf, matching, type Page, type PageRequest } from '../connection/pages.ts'
import { objectsOf } from '../connection/rows.ts'
import { asService } from '../connection/transaction.ts'
import { seenReport } from './reconciliation-runs.ts'
import type { reconciliationFindings } from '../schema/reconciliation.ts'

/** The name under which the service itself closes findings and writes verdicts. */
export const SERVICE_ACTOR = 'reconciler'

/** A problem that needs a person, with the evidence. */
export type Finding = Readonly<typeof reconciliationFindings.$inferSelect>

export interface NewFinding extends Pick<
  Finding,
  'provider' | 'kind' | 'objectId' | 'runId' | 'ours' | 'theirs'
> {
  readonly subject: {
    readonly tenantId: string
    readonly paymentId?: string | null
    readonly refundId?: string | null
    readonly operationId?: string | null
  } | null
}

/**
 * Opens new findings, and returns how many were opened. A finding that a person has closed stays
 * closed. A finding that the service has closed, and that occurs again, is opened again.
 *
 * @param reopen `every`: also findings that a person has closed, because their cause is new.
 */
export async function openFindings(
  sql: Sql | Transaction,
  findings: readonly NewFinding[],
  { reopen = 'service' }: { reopen?: 'service' | 'every' } = {},
): Promise<number> {
  if (findings.length === 0) return 0
  const rows = findings.map(({ subject, ...finding }) => ({
    id: randomUUIDv7(),
    ...finding,
    ...subject,
  }))
  const { count } = await asService(sql)`
    insert into reconciliation_findings (
      id, provider, kind, object_id, run_id, tenant_id, payment_id, refund_id, operation_id, ours,
      theirs
    )
    select * from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as finding (
      id uuid, provider text, kind text, "objectId" text, "runId" uuid, "tenantId" uuid,
      "paymentId" uuid, "refundId" uuid, "operationId" uuid, ours jsonb, theirs jsonb
    )
    -- The same order for all runs, so that they do not deadlock.
    order by provider, kind, "objectId"
    on conflict (provider, kind, object_id) do update set
      status = 'open', resolved_at = null, resolved_by = null, note = null
    where reconciliation_findings.resolved_by = ${SERVICE_ACTOR}
      or (reconciliation_findings.status = 'resolved' and ${reopen === 'every'})
  `
  return count
}

/** Finds a finding of any tenant. */
export async function findFinding(
  sql: Sql | Transaction,
  id: string,
): Promise<Finding | undefined> {
  const found = await asService(sql)`select * from reconciliation_findings where id = ${id}`
  return objectsOf<Finding>(found)[0]
}

/** An absent filter matches every finding. */
export interface FindingFilter {
  readonly status?: FindingStatus | undefined
  readonly runId?: string | undefined
}

/** Lists findings, newest first. Undefined when none has the cursor's id. */
export const listFindings = (
  sql: Sql,
  { status, runId }: FindingFilter,
  request: PageRequest,
): Promise<Page<Finding> | undefined> => {
  const filters = matching(sql, { status, run_id: runId })
  return listOf(sql, undefined, { table: 'reconciliation_findings', filters }, request)
}

/** The open findings of these differences, from any run. */
export async function findOpenAmong(
  sql: Sql | Transaction,
  differences: readonly Pick<NewFinding, 'provider' | 'kind' | 'objectId'>[],
): Promise<Finding[]> {
  if (differences.length === 0) return []
  const open = await asService(sql)`
    select finding.*
    from jsonb_to_recordset(${JSON.stringify(differences)}::jsonb) as difference (
      provider text, kind text, "objectId" text
    )
    join reconciliation_findings as finding
      on finding.provider = difference.provider and finding.kind = difference.kind
      and finding.object_id = difference."objectId"
    where finding.status = 'open'
    order by finding.id
  `
  return objectsOf<Finding>(open)
}

/**
 * The objects that have an open finding, or that the run itself has reported. A finding that a
 * person closed earlier does not explain today's difference.
 */
export async function findReported(
  sql: Sql | Transaction,
  { id, provider }: { id: string; provider: string },
  objectIds: readonly string[],
): Promise<Set<string>> {
  if (objectIds.length === 0) return new Set()
  const names = objectIds.map((objectId) => ({ object_id: objectId, name: seenReport(objectId) }))
  const rows = await asService(sql)<{ object_id: string }[]>`
    select object_id from reconciliation_findings
    where provider = ${provider} and object_id = any(${[...objectIds]}::text[])
      and kind = any(${explainingKinds}::text[]) and status = 'open'
    union
    select reported.object_id
    from jsonb_to_recordset(${JSON.stringify(names)}::jsonb) as reported (object_id text, name text)
    -- For the planner: see isNotCompared in reconciliation-runs.ts.
    where exists (
      select from reconciliation_seen as seen
      where seen.run_id = ${id} and seen.object_id = reported.name
      offset 0
    )
  `
  return new Set(rows.map((row) => row.object_id))
}

/** Closes a finding if it is open. */
export async function resolveFindingByIdIfOpen(
  tx: Transaction,
  id: string,
  { by, note }: { by: string; note: string },
): Promise<boolean> {
  const { count } = await tx`
    update reconciliation_findings
    set status = 'resolved', resolved_at = now(), resolved_by = ${by}, note = ${note}
    where id = ${id} and status = 'open'
  `
  return count === 1
}
