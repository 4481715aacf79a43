// The statements on findings: opened once for each thing that is wrong, closed when it is set right.
import { randomUUIDv7 } from 'node:crypto'
import {
  findingKinds,
  type FindingKind,
  type FindingStatus,
} from '../../domain/operations/finding.ts'
import type { Sql, Transaction } from '../connection/client.ts'
import { readPage, type Page, type PageRequest } from '../connection/pages.ts'
import { seenReport } from './reconciliation-progress.ts'
import { seesEveryTenant } from '../connection/row-security.ts'

/** The name under which findings are closed by the service itself. */
export const RECONCILER = 'reconciler'

/** Something that waits for a person, with the evidence. */
export interface NewFinding {
  readonly provider: string
  readonly kind: FindingKind
  /** What it is about: an id of the provider's, or of ours as it is shown. */
  readonly objectId: string
  readonly runId: string | null
  readonly subject: {
    readonly tenantId: string
    readonly paymentId?: string | null
    readonly refundId?: string | null
    readonly operationId?: string | null
  } | null
  readonly ours: Readonly<Record<string, unknown>> | null
  readonly theirs: Readonly<Record<string, unknown>> | null
}

/**
 * Opens findings that are not known yet, and says how many those were. One that a person has closed
 * stays closed; one that the reconciler has closed, and that is there again, is opened again.
 *
 * @param reopen `every`: also those that a person has closed, because they are about something new.
 */
export async function openFindings(
  sql: Sql | Transaction,
  findings: readonly NewFinding[],
  { reopen = 'reconcilers' }: { reopen?: 'reconcilers' | 'every' } = {},
): Promise<number> {
  if (findings.length === 0) return 0
  const rows = findings.map(({ subject, ...finding }) => ({
    id: randomUUIDv7(),
    provider: finding.provider,
    kind: finding.kind,
    object_id: finding.objectId,
    run_id: finding.runId,
    tenant_id: subject?.tenantId ?? null,
    payment_id: subject?.paymentId ?? null,
    refund_id: subject?.refundId ?? null,
    operation_id: subject?.operationId ?? null,
    ours: finding.ours,
    theirs: finding.theirs,
  }))
  const { count } = await sql`
    insert into reconciliation_findings (
      id, provider, kind, object_id, run_id, tenant_id, payment_id, refund_id, operation_id, ours,
      theirs
    )
    select * from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as finding (
      id uuid, provider text, kind text, object_id text, run_id uuid, tenant_id uuid,
      payment_id uuid, refund_id uuid, operation_id uuid, ours jsonb, theirs jsonb
    )
    where ${seesEveryTenant(sql)}
    on conflict (provider, kind, object_id) do update set
      status = 'open', resolved_at = null, resolved_by = null, note = null
    where reconciliation_findings.resolved_by = ${RECONCILER}
      or (reconciliation_findings.status = 'resolved' and ${reopen === 'every'})
  `
  return count
}

/** Closes the finding of that kind and object, if it is open. */
export async function resolveFindingIfOpen(
  sql: Sql | Transaction,
  { kind, objectId }: Pick<NewFinding, 'kind' | 'objectId'>,
  { by, note }: { by: string; note: string },
): Promise<boolean> {
  const { count } = await sql`
    update reconciliation_findings
    set status = 'resolved', resolved_at = now(), resolved_by = ${by}, note = ${note}
    where ${seesEveryTenant(sql)}
      and kind = ${kind} and object_id = ${objectId} and status = 'open'
  `
  return count > 0
}

/** A finding as it is stored. */
export interface Finding {
  readonly id: string
  readonly provider: string
  readonly kind: FindingKind
  readonly objectId: string
  /** The comparison that came by it first; null for what needed none. */
  readonly runId: string | null
  readonly tenantId: string | null
  readonly paymentId: string | null
  readonly refundId: string | null
  readonly operationId: string | null
  readonly ours: Readonly<Record<string, unknown>> | null
  readonly theirs: Readonly<Record<string, unknown>> | null
  readonly status: FindingStatus
  readonly openedAt: Date
  readonly resolvedAt: Date | null
  readonly resolvedBy: string | null
  readonly note: string | null
}

interface FindingRow {
  id: string
  provider: string
  kind: FindingKind
  object_id: string
  run_id: string | null
  tenant_id: string | null
  payment_id: string | null
  refund_id: string | null
  operation_id: string | null
  ours: Record<string, unknown> | null
  theirs: Record<string, unknown> | null
  status: FindingStatus
  opened_at: string
  resolved_at: string | null
  resolved_by: string | null
  note: string | null
}

function findingFromRow(row: FindingRow): Finding {
  return {
    id: row.id,
    provider: row.provider,
    kind: row.kind,
    objectId: row.object_id,
    runId: row.run_id,
    tenantId: row.tenant_id,
    paymentId: row.payment_id,
    refundId: row.refund_id,
    operationId: row.operation_id,
    ours: row.ours,
    theirs: row.theirs,
    status: row.status,
    openedAt: new Date(row.opened_at),
    resolvedAt: row.resolved_at === null ? null : new Date(row.resolved_at),
    resolvedBy: row.resolved_by,
    note: row.note,
  }
}

export async function findFinding(
  sql: Sql | Transaction,
  id: string,
): Promise<Finding | undefined> {
  const [row] = await sql<{ finding: FindingRow }[]>`
    select to_jsonb(finding) as finding from reconciliation_findings as finding
    where ${seesEveryTenant(sql)} and id = ${id}
  `
  return row && findingFromRow(row.finding)
}

/** Which findings a list is about; what is left out does not matter. */
export interface FindingFilter {
  readonly status?: FindingStatus
  readonly runId?: string
}

/** Findings, newest first. Undefined when the cursor names none of them. */
export async function listFindings(
  sql: Sql,
  { status, runId }: FindingFilter,
  request: PageRequest,
): Promise<Page<Finding> | undefined> {
  const inStatus = status === undefined ? sql`` : sql`and status = ${status}`
  const ofRun = runId === undefined ? sql`` : sql`and run_id = ${runId}`
  const list = {
    columns: sql`to_jsonb(finding) as finding`,
    entries: sql`
      from reconciliation_findings as finding where ${seesEveryTenant(sql)} ${inStatus} ${ofRun}
    `,
    fromRow: ({ finding }: { finding: FindingRow }) => findingFromRow(finding),
  }
  return await readPage(sql, list, request)
}

export async function countOpenFindings(sql: Sql): Promise<number> {
  const [row] = await sql<{ open: number }[]>`
    select count(*)::int as open from reconciliation_findings
    where ${seesEveryTenant(sql)} and status = 'open'
  `
  return row?.open ?? 0
}

/** Those of these differences that wait for a person, whenever they were found. */
export async function findOpenAmong(
  sql: Sql | Transaction,
  differences: readonly Pick<NewFinding, 'provider' | 'kind' | 'objectId'>[],
): Promise<Finding[]> {
  if (differences.length === 0) return []
  const rows = await sql<{ finding: FindingRow }[]>`
    select to_jsonb(finding) as finding
    from jsonb_to_recordset(${JSON.stringify(differences)}::jsonb) as difference (
      provider text, kind text, "objectId" text
    )
    join reconciliation_findings as finding
      on finding.provider = difference.provider and finding.kind = difference.kind
      and finding.object_id = difference."objectId"
    where ${seesEveryTenant(sql)} and finding.status = 'open'
    order by finding.id
  `
  return rows.map(({ finding }) => findingFromRow(finding))
}

/**
 * Those of the objects that an open finding is about, or that the run itself has reported: what a person
 * has closed on another day does not explain what is wrong today.
 */
export async function findReported(
  sql: Sql | Transaction,
  { id, provider }: { id: string; provider: string },
  objectIds: readonly string[],
): Promise<Set<string>> {
  if (objectIds.length === 0) return new Set()
  const names = objectIds.map((objectId) => ({ object_id: objectId, name: seenReport(objectId) }))
  const rows = await sql<{ object_id: string }[]>`
    select object_id from reconciliation_findings
    where ${seesEveryTenant(sql)} and provider = ${provider}
      and object_id = any(${[...objectIds]}::text[])
      and kind = any(${[...findingKinds]}::text[]) and status = 'open'
    union
    select reported.object_id
    from jsonb_to_recordset(${JSON.stringify(names)}::jsonb) as reported (object_id text, name text)
    -- The offset is for the planner: see reconciliation-seen.ts.
    where exists (
      select from reconciliation_seen as seen
      where seen.run_id = ${id} and seen.object_id = reported.name
      offset 0
    )
  `
  return new Set(rows.map((row) => row.object_id))
}

/** Closes a finding, if it is open. */
export async function resolveFindingByIdIfOpen(
  sql: Sql | Transaction,
  id: string,
  { by, note }: { by: string; note: string },
): Promise<boolean> {
  const { count } = await sql`
    update reconciliation_findings
    set status = 'resolved', resolved_at = now(), resolved_by = ${by}, note = ${note}
    where ${seesEveryTenant(sql)} and id = ${id} and status = 'open'
  `
  return count === 1
}
