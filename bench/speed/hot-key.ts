// Measures one idempotency key that many requests use at once. One of them, the owner, is accepted,
// and every other one is refused, because the operation is in progress.
import { randomUUID } from 'node:crypto'
import { Agent } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import type { Sql } from '../../src/db/connection/client.ts'
import { rounded, spreadOf, timed } from '../spread.ts'
import type { BenchTenant } from '../stack.ts'
import type { Answers, HotKey } from './load.ts'
import { keyed, post, send } from './payment-requests.ts'

export function showHotKey({ ownerMs, aloneMs, lockWaits, lockWaitsMost }: HotKey): string {
  return (
    `One key at once: accepted in ${ownerMs} ms, alone in ${aloneMs} ms (p50); ` +
    `sessions that wait for a lock: ${lockWaits}, at most ${lockWaitsMost}`
  )
}

interface HotKeyPlace {
  readonly apiUrl: string
  readonly tenant: BenchTenant
  readonly signal: AbortSignal
}

interface TimedStatus {
  readonly status: number
  readonly ms: number
}

const ACCEPTED = 202
const IN_PROGRESS = 409

/**
 * Sends groups of requests, each group with a new key, until the time is up.
 *
 * @param owner sees the database sessions of the service.
 */
export async function measureHotKey(
  place: HotKeyPlace,
  duplicates: number,
  seconds: number,
  owner: Sql,
): Promise<Answers> {
  const agent = new Agent({ keepAlive: true, maxSockets: duplicates })
  const groups: TimedStatus[][] = []
  const aloneMs: number[] = []
  const lockWaits: number[] = []
  let spentMs = 0
  try {
    // Opens the connections.
    await sendGroup(place, agent, duplicates)
    const endsAt = performance.now() + seconds * 1_000
    while (performance.now() < endsAt) {
      place.signal.throwIfAborted()
      const [alone] = await sendGroup(place, agent, 1)
      aloneMs.push(alone?.ms ?? 0)
      const sent = timed(() => sendGroup(place, agent, duplicates))
      lockWaits.push(...(await sampleLockWaits(owner, sent)))
      const { ms, result } = await sent
      spentMs += ms
      groups.push(result)
    }
  } finally {
    agent.destroy()
  }
  const answers = groups.flat()
  const owners = answers.filter(({ status }) => status === ACCEPTED)
  return {
    timesMs: answers.map(({ ms }) => ms),
    seconds: spentMs / 1_000,
    unexpected: groups.reduce((sum, group) => sum + countWrong(group), 0),
    non2xx: answers.length - owners.length,
    hotKey: {
      ownerMs: spreadOf(owners.map(({ ms }) => ms)).median,
      aloneMs: spreadOf(aloneMs).median,
      lockWaits: rounded(lockWaits.reduce((sum, count) => sum + count, 0) / lockWaits.length),
      lockWaitsMost: Math.max(...lockWaits),
    },
  }
}

/** Counts answers that are neither, and owners too many or too few. */
function countWrong(group: readonly TimedStatus[]): number {
  const owners = group.filter(({ status }) => status === ACCEPTED).length
  const refused = group.filter(({ status }) => status === IN_PROGRESS).length
  return group.length - owners - refused + Math.abs(owners - 1)
}

/** Sends so many requests with the same new key at once. */
function sendGroup(
  { apiUrl, tenant }: HotKeyPlace,
  agent: Agent,
  duplicates: number,
): Promise<TimedStatus[]> {
  const request = post('/v1/payments', {
    ...keyed(tenant, randomUUID()),
    // The API answers at once: the first request of a key with 202, every other one with 409.
    prefer: 'wait=0',
  })
  const sendOne = async () => {
    const { ms, result } = await timed(() => send(apiUrl, agent, request))
    return { status: result.status, ms }
  }
  return Promise.all(Array.from({ length: duplicates }, sendOne))
}

const SAMPLE_MS = 1

/** Counts the sessions that wait for a lock again and again, until the work is done. */
async function sampleLockWaits(sql: Sql, work: Promise<unknown>): Promise<number[]> {
  const counts: number[] = []
  const done = new AbortController()
  const stop = () => done.abort()
  work.then(stop, stop)
  while (!done.signal.aborted) {
    counts.push(await countLockWaits(sql))
    await delay(SAMPLE_MS)
  }
  return counts
}

export async function countLockWaits(sql: Sql): Promise<number> {
  const [row] = await sql<{ waiting: number }[]>`
    select count(*)::int as waiting from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'
  `
  return row?.waiting ?? 0
}
