// Whether requests that were refused have done anything all the same: at the provider, in any table, or in what
// the processes write. Of many requests, and then of fewer and fewer until one is left.
import { providerAt } from '../simulate/provider.ts'
import type { Draft } from './draft.ts'
import { sendAll } from './sending.ts'
import type { Shop } from './shop.ts'
import type { Subject } from './subject.ts'
import { compareTables, digestTables, lastAction, strangeActions, type Tables } from './tables.ts'

/** What there is at a time, before something is sent. */
export interface Before {
  readonly tables: Tables
  /** The last line of the operators' trail. */
  readonly action: string | undefined
  readonly providerCalls: number
  readonly executed: number
}

export interface Place {
  readonly subject: Subject
  readonly shop: Shop
}

/** How long everything is to stand still before it counts as settled, and how long that may take. */
const STILL_MS = 200
const SETTLE_LIMIT_MS = 30_000

/**
 * Waits until nothing moves any more, for a start.
 *
 * @throws Error when something goes on moving.
 */
export async function settle(subject: Subject): Promise<Before> {
  const startedAt = performance.now()
  let before = await look(subject)
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, STILL_MS))
    const now = await look(subject)
    if (differences(before, now).length === 0) return now
    if (performance.now() - startedAt > SETTLE_LIMIT_MS) {
      throw new Error(`nothing settles: ${differences(before, now).join('; ')}`)
    }
    before = now
  }
}

/** What has come of requests since then that nothing was to come of, in sentences; and what there is now. */
export async function findTraces(
  subject: Subject,
  before: Before,
): Promise<{ readonly traces: readonly string[]; readonly now: Before }> {
  // Also what comes only a moment after the answers.
  const now = await settle(subject)
  const strange = await strangeActions(subject.store, before.action)
  return { traces: [...differences(before, now), ...strange], now }
}

/**
 * The one of some requests after which something is different; undefined when none of them does it alone. Each
 * time that one is sent it has a new key, so that it does once more what it did.
 */
export async function bisect(
  { subject, shop }: Place,
  drafts: readonly Draft[],
  signal: AbortSignal,
): Promise<Draft | undefined> {
  const target = { url: subject.apiUrl, names: shop.names }
  let suspects = drafts
  while (suspects.length > 1) {
    const half = suspects.slice(0, Math.ceil(suspects.length / 2))
    const other = suspects.slice(half.length)
    if (await leavesTraces(half)) suspects = half
    else if (await leavesTraces(other)) suspects = other
    else return undefined
  }
  return suspects[0]

  async function leavesTraces(some: readonly Draft[]): Promise<boolean> {
    const before = await settle(subject)
    await sendAll(target, some, () => {}, signal)
    return (await findTraces(subject, before)).traces.length > 0
  }
}

async function look({ store, log, providerUrl }: Subject): Promise<Before> {
  const executed = await providerAt(providerUrl).listExecuted()
  return {
    tables: await digestTables(store),
    action: await lastAction(store),
    providerCalls: log.providerCalls,
    executed: executed.length,
  }
}

function differences(before: Before, now: Before): string[] {
  const calls = now.providerCalls - before.providerCalls
  const executed = now.executed - before.executed
  return [
    ...(calls === 0 ? [] : [`the provider was called ${calls} times`]),
    ...(executed === 0 ? [] : [`the provider has executed ${executed} more`]),
    ...compareTables(before.tables, now.tables),
  ]
}
