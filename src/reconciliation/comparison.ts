// What the parts of a comparison share: the run, what it works with, what it has counted so far, and how
// a verdict is acted on.
import { openFindings, type Finding, type NewFinding } from '../db/reconciliation/findings.ts'
import { findOpenAmong } from '../db/reconciliation/reported-findings.ts'
import { findTenantsAmong } from '../db/reconciliation/compared-payments.ts'
import type { Sql, Transaction } from '../db/connection/client.ts'
import { recordCompared, seenReport } from '../db/reconciliation/reconciliation-progress.ts'
import { requestCheckOfPayment } from '../db/operations/unknown-outcomes.ts'
import type { Run } from '../db/reconciliation/reconciliation-runs.ts'
import type { Engine } from '../engine/engine.ts'
import type { Correlation, OnRepeat, Window } from '../provider/payment-provider.ts'
import type { Difference } from './verdict.ts'

export type ComparisonParts = Pick<Engine, 'store' | 'provider' | 'clock' | 'log'>

export const stages = ['payments', 'refunds', 'movements', 'ours'] as const
export type Stage = (typeof stages)[number]

/** Who watches a comparison. Plain functions that neither wait nor throw. */
export interface ComparisonWatcher {
  /** How much of the window a stage has gone through: 0 to 1. */
  readonly progressed: (stage: Stage, share: number, counts: Readonly<Counts>) => void
  /** Differences that wait for a person, also those that were found before. */
  readonly found: (findings: readonly Finding[]) => void
}

/** What a run counts. */
export interface Counts extends Record<string, number> {
  payments: number
  refunds: number
  movements: number
  /** What an operation was working on, so that it could not be compared. */
  in_motion: number
  /** Checks of unknown outcomes that were asked for. */
  checks: number
  /** What the usual phases were set to follow. */
  repaired: number
  /** Events that had lost their job. */
  requeued: number
  /** Findings that are new. */
  found: number
  /** Differences that wait for a person, new or not. */
  open: number
}

export interface Comparison {
  readonly parts: ComparisonParts
  readonly run: Run
  readonly counts: Counts
  readonly watcher: ComparisonWatcher
  /** Ends the comparison between two pages. */
  readonly signal: AbortSignal
}

export function newCounts(): Counts {
  return {
    payments: 0,
    refunds: 0,
    movements: 0,
    in_motion: 0,
    checks: 0,
    repaired: 0,
    requeued: 0,
    found: 0,
    open: 0,
  }
}

/** Goes through the provider's records a page at a time: the next one is read when this one is done. */
export async function eachPage<Item extends { readonly createdAt: Date }>(
  comparison: Comparison,
  stage: Exclude<Stage, 'ours'>,
  list: (window: Window, onRepeat: OnRepeat) => AsyncIterable<readonly Item[]>,
  work: (page: readonly Item[]) => Promise<void>,
): Promise<void> {
  const { run, counts, watcher, signal } = comparison
  for await (const page of list(run, logRepeats(comparison))) {
    signal.throwIfAborted()
    await work(page)
    counts[stage] += page.length
    const oldest = page.at(-1)
    if (oldest !== undefined) watcher.progressed(stage, shareDone(run, oldest.createdAt), counts)
  }
  watcher.progressed(stage, 1, counts)
}

/** A page that fails in passing does not end a run, unless the run is to end. */
export function logRepeats({ parts, run, signal }: Comparison): OnRepeat {
  return (failure) => {
    signal.throwIfAborted()
    parts.log.warn({ err: failure, run: run.id }, 'a page of the provider failed; it is read again')
  }
}

/** The provider lists the newest first. */
function shareDone({ from, to }: Run, at: Date): number {
  const share = (to.getTime() - at.getTime()) / (to.getTime() - from.getTime())
  return Math.min(1, Math.max(0, share))
}

/** Opens the findings of a page, and tells who watches of those that wait for a person. */
export async function report(
  comparison: Comparison,
  differences: readonly Difference[],
  sql: Sql | Transaction = comparison.parts.store.sql,
): Promise<void> {
  if (differences.length === 0) return
  const { run, counts, watcher } = comparison
  const findings: NewFinding[] = differences.map((difference) => ({
    ...difference,
    provider: run.provider,
    runId: run.id,
  }))
  const reported = findings.map(({ objectId }) => seenReport(objectId))
  await recordCompared(sql, run.id, reported)
  counts.found += await openFindings(sql, findings)
  const open = await findOpenAmong(sql, findings)
  counts.open += open.length
  watcher.found(open)
}

/** A record of the provider's that we do not have, and whose it claims to be. */
interface Missing {
  readonly difference: Difference
  readonly theirs: { readonly correlation: Correlation | null }
}

/** Says whose a record is that we do not have: a tenant is only named when there is one. */
export async function nameTenants(
  { parts }: Comparison,
  missing: readonly Missing[],
): Promise<Difference[]> {
  const named = missing.flatMap(({ theirs }) => theirs.correlation?.tenantId ?? [])
  const tenants = await findTenantsAmong(parts.store.sql, named)
  return missing.map(({ difference, theirs }) => {
    const tenantId = theirs.correlation?.tenantId
    const known = difference.subject === null && tenantId !== undefined && tenants.has(tenantId)
    return known ? { ...difference, subject: { tenantId } } : difference
  })
}

/** Checks come a minute apart at least, however many records are about the same operation. */
const CHECKS_APART_SECONDS = 60

/** Has an unknown outcome looked at now: the provider has a record that may tell it. */
export async function askForCheck(
  { parts, counts }: Comparison,
  payment: { tenantId: string; paymentId: string },
): Promise<void> {
  if (await requestCheckOfPayment(parts.store.sql, payment, CHECKS_APART_SECONDS)) {
    counts.checks += 1
  }
}
