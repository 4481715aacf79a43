// Opens and resolves findings: each difference is one finding, which is closed when it is resolved.
import { randomUUIDv7 } from 'node:crypto'
import type { FindingKind, FindingStatus } from '../../domain/operations/finding.ts'
import type { Sql, Transaction } from '../connection/client.ts'
import { readPage, type Page, type PageRequest } from '../connection/pages.ts'
import { asService, inService } from '../connection/transaction.ts'
import type { reconciliationFindings } from '../schema/reconciliation/findings.ts'
import type { RowOf } from '../schema/row-of.ts'

/** The name under which the service itself closes findings and writes verdicts. */
export const SERVICE_ACTOR = 'reconciler'

/** A problem that needs a person, with the evidence. */
export interface NewFinding {
  readonly provider: string
  readonly kind: FindingKind
  /**
   * The object of the finding: an id of the provider, or one of ours in the form that the API
   * shows.
   */
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
  const { count } = await asService(sql)`
    insert into reconciliation_findings (
      id, provider, kind, object_id, run_id, tenant_id, payment_id, refund_id, operation_id, ours,
      theirs
    )
    select * from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as finding (
      id uuid, provider text, kind text, object_id text, run_id uuid, tenant_id uuid,
      payment_id uuid, refund_id uuid, operation_id uuid, ours jsonb, theirs jsonb
    )
    -- The same order for all runs, so that they do not deadlock.
    order by provider, kind, object_id
    on conflict (provider, kind, object_id) do update set
      status = 'open', resolved_at = null, resolved_by = null, note = null
    where reconciliation_findings.resolved_by = ${SERVICE_ACTOR}
      or (reconciliation_findings.status = 'resolved' and ${reopen === 'every'})
  `
  return count
}

/** A finding as it is stored. */
export interface Finding {
  readonly id: string
  readonly provider: string
  readonly kind: FindingKind
  readonly objectId: string
  /** The reconciliation run that opened the finding; null when none did. */
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

export type FindingRow = RowOf<typeof reconciliationFindings>

export function findingFromRow(row: FindingRow): Finding {
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

/** Finds a finding of any tenant. */
export async function findFinding(
  sql: Sql | Transaction,
  id: string,
): Promise<Finding | undefined> {
  const [row] = await asService(sql)<{ finding: FindingRow }[]>`
    select to_jsonb(finding) as finding from reconciliation_findings as finding where id = ${id}
  `
  return row && findingFromRow(row.finding)
}

/** An absent filter matches every finding. */
export interface FindingFilter {
  readonly status?: FindingStatus
  readonly runId?: string
}

/** Lists findings, newest first. Undefined when none has the cursor's id. */
export async function listFindings(
  sql: Sql,
  { status, runId }: FindingFilter,
  request: PageRequest,
): Promise<Page<Finding> | undefined> {
  const inStatus = status === undefined ? sql`` : sql`and status = ${status}`
  const ofRun = runId === undefined ? sql`` : sql`and run_id = ${runId}`
  const list = {
    columns: sql`to_jsonb(finding) as finding`,
    entries: sql`from reconciliation_findings as finding where true`,
    filters: sql`${inStatus} ${ofRun}`,
    fromRow: ({ finding }: { finding: FindingRow }) => findingFromRow(finding),
  }
  return await inService(sql, (tx) => readPage(tx, list, request))
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
