// Opens findings: each problem is one finding, which is closed when it is resolved.
import { randomUUIDv7 } from 'node:crypto'
import type { Sql, Transaction } from '../connection/client.ts'
import { asService } from '../connection/transaction.ts'
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
