// Detects side effects of refused requests: provider calls and changed tables. Bisects a batch to
// find the request that caused them.
import { providerAt } from '../simulate/provider.ts'
import type { Draft } from './draft.ts'
import { sendAll } from './sending.ts'
import type { Fixtures } from './fixtures.ts'
import type { Subject } from './subject.ts'
import {
  compareTables,
  digestTables,
  lastActionId,
  findUnexpectedActions,
  type Tables,
} from './tables.ts'

/** The state of the database and of the provider at one moment. */
export interface Snapshot {
  readonly tables: Tables
  /** The id of the newest operator action. */
  readonly lastActionId: string | undefined
  readonly providerCalls: number
  readonly executed: number
}

export interface TestBed {
  readonly subject: Subject
  readonly fixtures: Fixtures
}

/** The state counts as idle after this time without a change, and must be idle within the limit. */
const IDLE_MS = 200
const IDLE_LIMIT_MS = 30_000

/**
 * Waits until the state no longer changes. Returns a snapshot of it.
 *
 * @throws Error if the state is still changing at the time limit.
 */
export async function waitUntilIdle(subject: Subject): Promise<Snapshot> {
  const startedAt = performance.now()
  let before = await takeSnapshot(subject)
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, IDLE_MS))
    const now = await takeSnapshot(subject)
    if (differences(before, now).length === 0) return now
    if (performance.now() - startedAt > IDLE_LIMIT_MS) {
      throw new Error(`the state keeps changing: ${differences(before, now).join('; ')}`)
    }
    before = now
  }
}

/** Returns the side effects since a snapshot, as sentences, and a new snapshot. */
export async function findSideEffects(
  subject: Subject,
  before: Snapshot,
): Promise<{ readonly sideEffects: readonly string[]; readonly now: Snapshot }> {
  // Waits, because side effects may follow the answers.
  const now = await waitUntilIdle(subject)
  const unexpected = await findUnexpectedActions(subject.store, before.lastActionId)
  return { sideEffects: [...differences(before, now), ...unexpected], now }
}

/**
 * Finds the request that causes side effects. Returns undefined if no request causes them alone.
 * Every time a request is sent it gets a new idempotency key, so that it has the same effect again.
 */
export async function bisect(
  { subject, fixtures }: TestBed,
  drafts: readonly Draft[],
  signal: AbortSignal,
): Promise<Draft | undefined> {
  const target = { url: subject.apiUrl, names: fixtures.names }
  let suspects = drafts
  while (suspects.length > 1) {
    const half = suspects.slice(0, Math.ceil(suspects.length / 2))
    const other = suspects.slice(half.length)
    if (await hasSideEffects(half)) suspects = half
    else if (await hasSideEffects(other)) suspects = other
    else return undefined
  }
  return suspects[0]

  async function hasSideEffects(subset: readonly Draft[]): Promise<boolean> {
    const before = await waitUntilIdle(subject)
    await sendAll(target, subset, () => {}, signal)
    return (await findSideEffects(subject, before)).sideEffects.length > 0
  }
}

async function takeSnapshot({ store, log, providerUrl }: Subject): Promise<Snapshot> {
  const executed = await providerAt(providerUrl).listExecuted()
  return {
    tables: await digestTables(store),
    lastActionId: await lastActionId(store),
    providerCalls: log.providerCalls,
    executed: executed.length,
  }
}

function differences(before: Snapshot, now: Snapshot): string[] {
  const calls = now.providerCalls - before.providerCalls
  const executed = now.executed - before.executed
  return [
    ...(calls === 0 ? [] : [`the provider was called ${calls} times`]),
    ...(executed === 0 ? [] : [`the provider executed ${executed} more calls`]),
    ...compareTables(before.tables, now.tables),
  ]
}
