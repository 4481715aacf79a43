// What the parts of a comparison share: the run with its counts, reads at the provider, and what is done
// about differences.
import type { Sql, Transaction } from '../db/connection/client.ts'
import { objectsOf } from '../db/connection/rows.ts'
import { asService } from '../db/connection/transaction.ts'
import { requestCheckOfPayment } from '../db/operations/requested-checks.ts'
import { openFindings, type Finding, type NewFinding } from '../db/operations/findings.ts'
import { findTenant } from '../db/tenants/tenants.ts'
import { explainingKinds } from '../domain/operations/finding.ts'
import type { Engine } from '../engine/engine.ts'
import { readWithRetries } from '../provider/read-with-retries.ts'
import type { Correlation, OnRepeat, PaymentProvider } from '../provider/payment-provider.ts'
import { recordCompared, seenReport } from './compared-objects.ts'
import type { Difference } from './judge-record.ts'
import { findRun, type Run } from './runs.ts'

export const stages = ['payments', 'refunds', 'movements', 'ours'] as const
export type Stage = (typeof stages)[number]

/** Watches a comparison. Its functions return at once, and do not throw. */
export interface ComparisonWatcher {
  /** Called with the share of the window, 0 to 1, that a stage has completed. */
  readonly progressed: (stage: Stage, share: number, counts: Readonly<Counts>) => void
  /**
   * Called with the differences that wait for an operator, including those found by earlier runs.
   */
  readonly found: (findings: readonly Finding[]) => void
}

/** The counts of a run, as it begins. */
export const noCounts = {
  payments: 0,
  refunds: 0,
  movements: 0,
  /** Those of the movements that belong to no payment: payouts, and fees of the account. */
  account_movements: 0,
  /** Fees of the provider that were posted. */
  fees: 0,
  /** Records that could not be compared because an operation was working on them. */
  in_motion: 0,
  /** Requested checks of unknown outcomes. */
  checks: 0,
  /** Payments that the usual phases were told to follow. */
  repaired: 0,
  /** Events whose job was lost. */
  requeued: 0,
  /** New findings. */
  found: 0,
  /** Differences that wait for an operator, new or not. */
  open: 0,
}
export type Counts = typeof noCounts

export interface Comparison extends Pick<Engine, 'clock' | 'log'> {
  readonly sql: Sql
  readonly provider: PaymentProvider
  readonly run: Run
  readonly counts: Counts
  readonly watcher: ComparisonWatcher | undefined
  /** Ends the comparison before the next record. The run can be restarted. */
  readonly signal: AbortSignal
}

/** Works through a list of the provider page by page. A page is read after the previous one is done. */
export async function eachPage<Item extends { readonly createdAt: Date }>(
  comparison: Comparison,
  stage: Exclude<Stage, 'ours'> | undefined,
  pages: AsyncIterable<readonly Item[]>,
  work: (page: readonly Item[]) => Promise<void>,
): Promise<void> {
  const { run, counts, watcher } = comparison
  for await (const page of pages) {
    await throwIfEnded(comparison)
    await work(page)
    if (stage === undefined) continue
    counts[stage] += page.length
    const oldest = page.at(-1)
    if (oldest !== undefined) watcher?.progressed(stage, shareDone(run, oldest.createdAt), counts)
  }
  if (stage !== undefined) watcher?.progressed(stage, 1, counts)
}

/** The provider lists the newest first. */
function shareDone({ from, to }: Run, at: Date): number {
  const share = (to.getTime() - at.getTime()) / (to.getTime() - from.getTime())
  return Math.min(1, Math.max(0, share))
}

/** Another worker has completed the run. */
export class RunCompleted extends Error {}

/**
 * Called between two pages, and after what the run has recorded was read: the worker that completes
 * a run deletes that, and without it every object looks as if it were missing.
 *
 * @throws {RunCompleted}; the signal's reason, when the run was told to stop.
 */
export async function throwIfEnded(
  { sql: own, run, signal }: Comparison,
  sql: Sql | Transaction = own,
): Promise<void> {
  signal.throwIfAborted()
  const { status } = (await findRun(sql, run.id)) ?? run
  if (status === 'completed') throw new RunCompleted(`run ${run.id} is completed`)
}

/** Lets a page be read again after a temporary failure, unless the run was told to stop. */
export function logRepeats({ log, run, signal }: Comparison): OnRepeat {
  return (failure) => {
    signal.throwIfAborted()
    log.warn({ err: failure, run: run.id }, 'a read at the provider failed; it is repeated')
  }
}

/** Reads one object of the provider, a few times if that fails, so that one failure ends no run. */
export function withRetries<Value>(
  comparison: Comparison,
  read: () => Promise<Value>,
): Promise<Value> {
  return readWithRetries(read, () => true, logRepeats(comparison))
}

/** Opens the findings of a page, and passes those that wait for an operator to the watcher. */
export async function report(
  comparison: Comparison,
  differences: readonly Difference[],
  sql: Sql | Transaction = comparison.sql,
): Promise<void> {
  if (differences.length === 0) return
  await throwIfEnded(comparison, sql)
  const { run, counts, watcher } = comparison
  const { id: runId, provider } = run
  const findings = differences.map((difference) => ({ ...difference, provider, runId }))
  const explaining = findings.filter(({ kind }) => explainingKinds.includes(kind))
  const reported = explaining.map(({ objectId }) => seenReport(objectId))
  await recordCompared(sql, runId, reported)
  counts.found += await openFindings(sql, findings)
  const open = await findOpenAmong(sql, findings)
  counts.open += open.length
  watcher?.found(open)
}

/** The open findings of these differences, from any run. */
export async function findOpenAmong(
  sql: Sql | Transaction,
  differences: readonly Pick<NewFinding, 'provider' | 'kind' | 'objectId'>[],
): Promise<Finding[]> {
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

/** Adds to differences without a record of ours the tenant that the provider's names, if there is one. */
export async function nameTenant(
  { sql }: Comparison,
  differences: readonly Difference[],
  { correlation }: { readonly correlation: Correlation | null },
): Promise<readonly Difference[]> {
  const tenant = correlation && (await findTenant(sql, correlation.tenantId))
  if (!tenant) return differences
  return differences.map((difference) => ({ ...difference, subject: { tenantId: tenant.id } }))
}

/** Checks of an operation are at least a minute apart, even if many records concern it. */
const CHECKS_APART = { seconds: 60, mostSeconds: 60 }

/** Requests a check of an unknown outcome now, because the provider's record may resolve it. */
export async function requestCheck(
  { sql, counts }: Comparison,
  payment: { tenantId: string; paymentId: string },
): Promise<void> {
  if (await requestCheckOfPayment(sql, payment, CHECKS_APART)) counts.checks += 1
}
