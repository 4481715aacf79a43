// The shared parts of a comparison: the run, its dependencies and counts, and the actions that
// follow a verdict.
import { setTimeout as wait } from 'node:timers/promises'
import { openFindings, type Finding, type NewFinding } from '../db/reconciliation/findings.ts'
import { findProviderEvent, storeProviderEvent } from '../db/events/provider-events.ts'
import { findOpenAmong } from '../db/reconciliation/findings.ts'
import { findTenantsAmong } from '../db/reconciliation/compared-records.ts'
import type { Sql, Transaction } from '../db/connection/client.ts'
import { requestCheckOfPayment } from '../db/operations/requested-checks.ts'
import {
  findRun,
  type Run,
  recordCompared,
  seenReport,
} from '../db/reconciliation/reconciliation-runs.ts'
import type { ProviderEvent } from '../domain/events/provider-event.ts'
import { explainingKinds } from '../domain/operations/finding.ts'
import type { Engine } from '../engine/engine.ts'
import type {
  Correlation,
  OnRepeat,
  PaymentProvider,
  Window,
} from '../provider/payment-provider.ts'
import type { Difference } from './verdict.ts'

export const stages = ['payments', 'refunds', 'movements', 'ours'] as const
export type Stage = (typeof stages)[number]

/** Watches a comparison. Functions that neither wait nor throw. */
export interface ComparisonWatcher {
  /** Called with the share of the window, 0 to 1, that a stage has completed. */
  readonly progressed: (stage: Stage, share: number, counts: Readonly<Counts>) => void
  /**
   * Called with the differences that wait for an operator, including those found by earlier runs.
   */
  readonly found: (findings: readonly Finding[]) => void
}

/** The counts of a run. */
export interface Counts extends Record<string, number> {
  payments: number
  refunds: number
  movements: number
  /** Those of the movements that belong to no payment: payouts, and fees of the account. */
  account_movements: number
  /** Fees of the provider that were posted. */
  fees: number
  /** Records that could not be compared because an operation was working on them. */
  in_motion: number
  /** Requested checks of unknown outcomes. */
  checks: number
  /** Payments that the usual phases were told to follow. */
  repaired: number
  /** Events whose job was lost. */
  requeued: number
  /** New findings. */
  found: number
  /** Differences that wait for an operator, new or not. */
  open: number
}

export interface Comparison {
  /** With the provider of the run. */
  readonly parts: Pick<Engine, 'store' | 'clock' | 'log'> & { readonly provider: PaymentProvider }
  readonly run: Run
  readonly counts: Counts
  readonly watcher: ComparisonWatcher
  /** Ends the comparison before the next record. */
  readonly signal: AbortSignal
}

export function newCounts(): Counts {
  return {
    payments: 0,
    refunds: 0,
    movements: 0,
    account_movements: 0,
    fees: 0,
    in_motion: 0,
    checks: 0,
    repaired: 0,
    requeued: 0,
    found: 0,
    open: 0,
  }
}

/**
 * Works through the provider's records page by page. A page is read after the previous one is done.
 */
export async function eachPage<Item extends { readonly createdAt: Date }>(
  comparison: Comparison,
  stage: Exclude<Stage, 'ours'> | undefined,
  list: (window: Window, onRepeat: OnRepeat) => AsyncIterable<readonly Item[]>,
  work: (page: readonly Item[]) => Promise<void>,
): Promise<void> {
  const { run, counts, watcher } = comparison
  for await (const page of list(run, logRepeats(comparison))) {
    await throwIfEnded(comparison)
    await work(page)
    if (stage === undefined) continue
    counts[stage] += page.length
    const oldest = page.at(-1)
    if (oldest !== undefined) watcher.progressed(stage, shareDone(run, oldest.createdAt), counts)
  }
  if (stage !== undefined) watcher.progressed(stage, 1, counts)
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
  { parts, run, signal }: Comparison,
  sql: Sql | Transaction = parts.store.sql,
): Promise<void> {
  signal.throwIfAborted()
  const { status } = (await findRun(sql, run.id)) ?? run
  if (status === 'completed') throw new RunCompleted(`run ${run.id} is completed`)
}

/**
 * The records of a page, until the run is told to stop. Each of them may need a read at the provider.
 *
 * @throws the signal's reason before the next record.
 */
export function* untilStopped<Item>(
  { signal }: Pick<Comparison, 'signal'>,
  page: Iterable<Item>,
): Iterable<Item> {
  for (const item of page) {
    signal.throwIfAborted()
    yield item
  }
}

/** Lets a page be read again after a temporary failure, unless the run was told to stop. */
export function logRepeats({ parts, run, signal }: Comparison): OnRepeat {
  return (failure) => {
    signal.throwIfAborted()
    parts.log.warn({ err: failure, run: run.id }, 'a read at the provider failed; it is repeated')
  }
}

/** Before each further try of a read. */
const READ_DELAYS_MS = [500, 1_000, 2_000]

/** Reads one object of the provider, a few times if that fails, so that one failure ends no run. */
export async function withRetries<Value>(
  comparison: Comparison,
  read: () => Promise<Value>,
): Promise<Value> {
  const onRepeat = logRepeats(comparison)
  for (const delayMs of READ_DELAYS_MS) {
    try {
      return await read()
    } catch (error) {
      onRepeat(error)
      await wait(delayMs)
    }
  }
  return await read()
}

/** The provider lists the newest first. */
function shareDone({ from, to }: Run, at: Date): number {
  const share = (to.getTime() - at.getTime()) / (to.getTime() - from.getTime())
  return Math.min(1, Math.max(0, share))
}

/** Opens the findings of a page, and passes those that wait for an operator to the watcher. */
export async function report(
  comparison: Comparison,
  differences: readonly Difference[],
  sql: Sql | Transaction = comparison.parts.store.sql,
): Promise<void> {
  if (differences.length === 0) return
  await throwIfEnded(comparison, sql)
  const { run, counts, watcher } = comparison
  const findings: NewFinding[] = differences.map((difference) => ({
    ...difference,
    provider: run.provider,
    runId: run.id,
  }))
  const explaining = findings.filter(({ kind }) => explainingKinds.includes(kind))
  const reported = explaining.map(({ objectId }) => seenReport(objectId))
  await recordCompared(sql, run.id, reported)
  counts.found += await openFindings(sql, findings)
  const open = await findOpenAmong(sql, findings)
  counts.open += open.length
  watcher.found(open)
}

/**
 * Counts a record of the provider that cannot be compared yet, and records our id. Ours may not know
 * the provider's id yet, and is counted once.
 */
export async function countInMotion(
  { parts, run, counts }: Comparison,
  ourId: string | undefined,
): Promise<void> {
  counts.in_motion += 1
  if (ourId !== undefined) await recordCompared(parts.store.sql, run.id, [ourId])
}

/** A record of the provider that we do not have, with the owner that it names. */
interface Missing {
  readonly difference: Difference
  readonly theirs: { readonly correlation: Correlation | null }
}

/**
 * Makes the usual phases follow the provider, by an event of our own. False if an earlier event of
 * this kind was applied in vain: then it is a difference.
 */
export async function follow(
  { parts, counts }: Comparison,
  event: ProviderEvent,
): Promise<boolean> {
  const { sql } = parts.store
  const isNew = await storeProviderEvent(sql, event)
  if (isNew) counts.repaired += 1
  return isNew || (await findProviderEvent(sql, event))?.status === 'pending'
}

/** Adds the tenant to differences without a record of ours, if that tenant exists. */
export async function nameTenants(
  { parts }: Comparison,
  missing: readonly Missing[],
): Promise<Difference[]> {
  const tenantIds = missing.flatMap(({ theirs }) => theirs.correlation?.tenantId ?? [])
  const tenants = await findTenantsAmong(parts.store.sql, tenantIds)
  return missing.map(({ difference, theirs }) => {
    const tenantId = theirs.correlation?.tenantId
    const known = difference.subject === null && tenantId !== undefined && tenants.has(tenantId)
    return known ? { ...difference, subject: { tenantId } } : difference
  })
}

/** Checks of an operation are at least a minute apart, even if many records concern it. */
const CHECKS_APART = { seconds: 60, mostSeconds: 60 }

/** Requests a check of an unknown outcome now, because the provider's record may resolve it. */
export async function requestCheck(
  { parts, counts }: Comparison,
  payment: { tenantId: string; paymentId: string },
): Promise<void> {
  if (await requestCheckOfPayment(parts.store.sql, payment, CHECKS_APART)) counts.checks += 1
}
