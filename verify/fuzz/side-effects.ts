// Detects side effects of refused requests: provider calls and changed tables. Bisects a batch to
// find the request that caused them.
import { setTimeout as delay } from 'node:timers/promises'
import type { Store } from '../../src/db/connection/client.ts'
import { problems } from '../../src/domain/problems/problems.ts'
import { providerAt } from '../simulate/faults.ts'
import type { Draft } from './draft.ts'
import { sendAll, type Target } from './connection.ts'
import type { Fixtures } from './fixtures.ts'
import type { Subject } from './subject.ts'

interface Exception {
  readonly table: RegExp
  /** The rows that are still checked. Without it, none are. */
  readonly where?: string
  readonly reason: string
}

export const exceptions: readonly Exception[] = [
  { table: /^public\.rate_limits$/, reason: 'It counts all requests, including refused ones.' },
  { table: /^public\.key_replays$/, reason: 'It counts uses of a key, also of refused requests.' },
  { table: /^public\.admin_actions$/, reason: 'Each row of a command is checked by itself.' },
  { table: /^public\.service_processes$/, reason: 'Each process reports itself there.' },
  {
    table: /^atomic_jobs\.(job|job_common|j[0-9a-f]{56})$/,
    where: `name not in ('maintenance', '__pgboss__send-it')`,
    reason: 'Scheduled maintenance adds jobs, independent of requests.',
  },
  {
    table: /^atomic_jobs\.(queue|version|schedule|bam|warning|queue_stats(_\d+)?)$/,
    reason: 'pg-boss updates its own bookkeeping on a schedule.',
  },
]

/** Returns the digests by the name of the table. */
async function digestTables({ sql }: Store): Promise<ReadonlyMap<string, string>> {
  const known = await sql<{ name: string; quoted: string }[]>`
    select n.nspname || '.' || c.relname as name, c.oid::regclass::text as quoted
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'm') and n.nspname !~ '^(pg_|information_schema)'
    order by 1
  `
  const queries = known.flatMap(({ name, quoted }) => {
    const exception = exceptions.find(({ table }) => table.test(name))
    if (exception !== undefined && exception.where === undefined) return []
    return [
      `select '${name}' as name, count(*) || ' rows, ' ||
        coalesce(md5(string_agg(md5(t::text), '' order by md5(t::text))), '') as digest
      from ${quoted} t where ${exception?.where ?? 'true'}`,
    ]
  })
  const rows = await sql.unsafe<{ name: string; digest: string }[]>(queries.join(' union all '))
  return new Map(rows.map(({ name, digest }) => [name, digest]))
}

/** Operator actions after this id that record anything other than a refusal and its reason. */
async function findUnexpectedActions({ sql }: Store, after: string | undefined): Promise<string[]> {
  const types = Object.keys(problems)
  const rows = await sql<{ line: string }[]>`
    select row_to_json(admin_actions)::text as line from admin_actions
    where id > ${after ?? '00000000-0000-0000-0000-000000000000'}
      and (
        actor <> 'admin' or details - 'refused' <> '{}'::jsonb
        or not coalesce(details ->> 'refused' = any(${types}), false)
        or subject !~ '^(op|tnt|key|fnd|we|wd)_[0-9a-z]{26}$'
      )
    limit 3
  `
  return rows.map(({ line }) => `admin_actions has ${line}`)
}

/** The state of the database and of the provider at one moment. */
export type Snapshot = Awaited<ReturnType<typeof takeSnapshot>>

export interface TestBed {
  readonly subject: Subject
  readonly fixtures: Fixtures
}

export function targetOf({ subject, fixtures }: TestBed): Target {
  return { url: subject.apiUrl, names: fixtures.names }
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
  const limit = AbortSignal.timeout(IDLE_LIMIT_MS)
  let before = await takeSnapshot(subject)
  for (;;) {
    await delay(IDLE_MS)
    const now = await takeSnapshot(subject)
    const changes = differences(before, now)
    if (changes.length === 0) return now
    if (limit.aborted) throw new Error(`the state keeps changing: ${changes.join('; ')}`)
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
  place: TestBed,
  drafts: readonly Draft[],
  signal: AbortSignal,
): Promise<Draft | undefined> {
  const { subject } = place
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
    await sendAll(targetOf(place), subset, () => {}, signal)
    return (await findSideEffects(subject, before)).sideEffects.length > 0
  }
}

async function takeSnapshot({ store, log, providerUrl }: Subject) {
  const executed = await providerAt(providerUrl).listExecuted()
  const [newest] = await store.sql<{ id: string }[]>`
    select id from admin_actions order by id desc limit 1
  `
  return {
    tables: await digestTables(store),
    /** The id of the newest operator action, if there is one. */
    lastActionId: newest?.id,
    providerCalls: log.providerCalls,
    executed: executed.length,
  }
}

/** The differences, as sentences. */
function differences(before: Snapshot, now: Snapshot): string[] {
  const calls = now.providerCalls - before.providerCalls
  const executed = now.executed - before.executed
  const changed = [...new Set([...before.tables.keys(), ...now.tables.keys()])]
    .map((name) => [name, before.tables.get(name), now.tables.get(name)])
    .filter(([, was, is]) => was !== is)
  return [
    ...(calls === 0 ? [] : [`the provider was called ${calls} times`]),
    ...(executed === 0 ? [] : [`the provider executed ${executed} more calls`]),
    ...changed.map(([name, was = 'not there', is = 'gone']) => `${name} was ${was}, is ${is}`),
  ]
}
