// Finds which differences of a reconciliation are already reported as findings.
import { explainingKinds } from '../../domain/operations/finding.ts'
import type { Sql, Transaction } from '../connection/client.ts'
import { asService } from '../connection/transaction.ts'
import { findingFromRow, type Finding, type FindingRow, type NewFinding } from './findings.ts'
import { seenReport } from './reconciliation-progress.ts'

/** The open findings of these differences, from any run. */
export async function findOpenAmong(
  sql: Sql | Transaction,
  differences: readonly Pick<NewFinding, 'provider' | 'kind' | 'objectId'>[],
): Promise<Finding[]> {
  if (differences.length === 0) return []
  const rows = await asService(sql)<{ finding: FindingRow }[]>`
    select to_jsonb(finding) as finding
    from jsonb_to_recordset(${JSON.stringify(differences)}::jsonb) as difference (
      provider text, kind text, "objectId" text
    )
    join reconciliation_findings as finding
      on finding.provider = difference.provider and finding.kind = difference.kind
      and finding.object_id = difference."objectId"
    where finding.status = 'open'
    order by finding.id
  `
  return rows.map(({ finding }) => findingFromRow(finding))
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
    -- For the planner: see isNotCompared in reconciliation-progress.ts.
    where exists (
      select from reconciliation_seen as seen
      where seen.run_id = ${id} and seen.object_id = reported.name
      offset 0
    )
  `
  return new Set(rows.map((row) => row.object_id))
}
