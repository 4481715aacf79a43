// Tells the servers of a database apart: a primary from the one that was promoted after it, and those
// to which one name leads one after the other. Finds the primary among the hosts of DATABASE_URL: the
// driver (postgres 3.4.9) would look for it too, but it tries the hosts again without a pause, and reports
// nothing, until one is a primary.
import { setTimeout as delay } from 'node:timers/promises'
import postgres, { type Sql } from 'postgres'
import type { Host } from '../../../database-url.ts'
import { nameOf, ServerUnusable } from './server-socket.ts'

export interface Server {
  /** The same for a primary and its standbys; empty when the server does not say. */
  readonly cluster: string
  /** Where it writes: each promotion begins a later timeline. Null for a standby. */
  readonly timeline: number | null
  /** In seconds since 1970, with microseconds: no two servers of a cluster have the same. */
  readonly startedAt: string
}

/**
 * Asks a server which one it is. A service of PostgreSQL may lack the functions for the timeline, or
 * forbid them: then a promotion does not show.
 *
 * @throws the driver's error when the server does not answer.
 * @see https://www.postgresql.org/docs/current/functions-info.html#FUNCTIONS-INFO-CONTROLDATA
 */
export async function readServer(sql: Sql): Promise<Server> {
  try {
    return await readWhole(sql)
  } catch (error) {
    if (!(error instanceof postgres.PostgresError) || error.severity !== 'ERROR') throw error
    const { isStandby, startedAt } = await readStart(sql)
    return { cluster: '', timeline: isStandby ? null : 0, startedAt }
  }
}

/** The name of a segment of the WAL begins with its timeline, as eight hexadecimal digits. */
async function readWhole(sql: Sql): Promise<Server> {
  const rows = await sql<Server[]>`
    select
      system_identifier::text as cluster,
      case when not pg_is_in_recovery() then
        ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int
      end as timeline,
      extract(epoch from pg_postmaster_start_time())::text as "startedAt"
    from pg_control_system()
  `
  return theOnly(rows)
}

async function readStart(sql: Sql): Promise<{ isStandby: boolean; startedAt: string }> {
  const rows = await sql<{ isStandby: boolean; startedAt: string }[]>`
    select pg_is_in_recovery() as "isStandby", extract(epoch from pg_postmaster_start_time())::text as "startedAt"
  `
  return theOnly(rows)
}

function theOnly<Row>([row]: readonly Row[]): Row {
  if (row === undefined) throw new Error('the server did not say which one it is')
  return row
}

/**
 * Remembers the latest primary of each cluster. A former primary that was not stopped still answers,
 * and still accepts writes if its standby is asynchronous: they would be lost.
 */
export class LatestPrimaries {
  readonly #timelines = new Map<string, number>()

  /** Whether another server of its cluster was promoted after it. */
  isFormer({ cluster, timeline }: Server): boolean {
    return timeline !== null && timeline < (this.#timelines.get(cluster) ?? 0)
  }

  /** @throws ServerUnusable for a former primary. */
  note(server: Server): void {
    if (this.isFormer(server)) {
      throw new ServerUnusable('NO_PRIMARY', 'it is a former primary: another one was promoted')
    }
    if (server.timeline !== null) this.#timelines.set(server.cluster, server.timeline)
  }
}

/** A standby is older than every primary. */
const timelineOf = ({ timeline }: Server): number => timeline ?? -1

/**
 * Whether a session of the one server should be given up, because the other one is the primary.
 *
 * @param isWaiting whether the server leaves a statement unanswered. Then it may be gone without a
 *   promotion. Otherwise only a promotion counts: one address may lead to several servers that all
 *   write, as those of Citus do.
 */
export function isReplacedBy(server: Server, primary: Server, isWaiting: boolean): boolean {
  if (server.startedAt === primary.startedAt) return false
  const behind = timelineOf(primary) - timelineOf(server)
  return isWaiting ? behind >= 0 : behind > 0 && server.cluster === primary.cluster
}

/** Connections that are opened together share one search. After a failover they need a new one. */
const SEARCH_REUSED_MS = 1_000

/** How long other hosts may take to say that they were promoted later than the first that answers. */
const OTHERS_MS = 250

/** Asks one host, until the answer no longer matters. */
type Ask = (host: Host, settled: AbortSignal) => Promise<Server>

export interface Primary {
  readonly host: Host
  readonly server: Server
}

/**
 * Returns a function that asks all hosts at the same time, and returns the primary. So a host that is
 * down does not delay the others. Of several, it is the one that was promoted last.
 */
export function createPrimarySearch(
  hosts: readonly Host[],
  ask: Ask,
  latest: LatestPrimaries,
): () => Promise<Primary> {
  let search: Promise<Primary> | undefined
  let endsMs = 0
  return () => {
    if (search !== undefined && performance.now() < endsMs) return search
    endsMs = performance.now() + SEARCH_REUSED_MS
    search = findPrimary(hosts, ask, latest)
    return search
  }
}

async function findPrimary(
  hosts: readonly Host[],
  ask: Ask,
  latest: LatestPrimaries,
): Promise<Primary> {
  const settled = new AbortController()
  const found: Primary[] = []
  const searches = hosts.map(async (host) => {
    const server = await ask(host, settled.signal)
    if (server.timeline === null) throw new ServerUnusable('NO_PRIMARY', 'it is a standby')
    latest.note(server)
    found.push({ host, server })
  })
  try {
    await Promise.any(searches)
  } catch (error) {
    const errors = (error as AggregateError).errors as NodeJS.ErrnoException[]
    const reasons = hosts.map((host, index) => {
      const { message = '', code } = errors[index] ?? {}
      return `${nameOf(host)}: ${message || code}`
    })
    const message = `no host is the primary (${reasons.join('; ')})`
    throw new ServerUnusable('NO_PRIMARY', message, errors[0])
  }
  try {
    await Promise.race([Promise.allSettled(searches), delay(OTHERS_MS, undefined, { ref: false })])
    const [primary] = found.filter(({ server }) => !latest.isFormer(server))
    if (primary !== undefined) return primary
    throw new ServerUnusable('NO_PRIMARY', 'only a former primary answers')
  } finally {
    settled.abort()
  }
}
