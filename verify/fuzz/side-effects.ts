// Whether requests that were refused have done anything all the same: at the provider, in any table, or in what
// the processes write. Of many requests, and then of fewer and fewer until one is left.
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

/** What there is at a time, before something is sent. */
export interface Snapshot {
  readonly tables: Tables
  /** The last line of the operators' trail. */
  readonly lastActionId: string | undefined
  readonly providerCalls: number
  readonly executed: number
}

export interface TestBed {
  readonly subject: Subject
  readonly fixtures: Fixtures
}

/** How long everything is to stand still before it counts as settled, and how long that may take. */
const IDLE_MS = 200
const IDLE_LIMIT_MS = 30_000

/**
 * Waits until nothing moves any more, for a start.
 *
 * @throws Error when something goes on moving.
 */
export async function waitUntilIdle(subject: Subject): Promise<Snapshot> {
  const startedAt = performance.now()
  let before = await takeSnapshot(subject)
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, IDLE_MS))
    const now = await takeSnapshot(subject)
    if (differences(before, now).length === 0) return now
    if (performance.now() - startedAt > IDLE_LIMIT_MS) {
      throw new Error(`nothing settles: ${differences(before, now).join('; ')}`)
    }
    before = now
  }
}

/** What has come of requests since then that nothing was to come of, in sentences; and what there is now. */
export async function findSideEffects(
  subject: Subject,
  before: Snapshot,
): Promise<{ readonly sideEffects: readonly string[]; readonly now: Snapshot }> {
  // Also what comes only a moment after the answers.
  const now = await waitUntilIdle(subject)
  const unexpected = await findUnexpectedActions(subject.store, before.lastActionId)
  return { sideEffects: [...differences(before, now), ...unexpected], now }
}

/**
 * The one of some requests after which something is different; undefined when none of them does it alone. Each
 * time that one is sent it has a new key, so that it does once more what it did.
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
    ...(executed === 0 ? [] : [`the provider has executed ${executed} more`]),
    ...compareTables(before.tables, now.tables),
  ]
}
