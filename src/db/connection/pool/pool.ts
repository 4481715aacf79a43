// Provides a pool of clients with one connection each. The driver's own pool (postgres 3.4.9) does
// not suit a long-running process: it keeps an entry in memory for each statement that it ever
// pipelined, and scans all entries for the next one. A busy process gets slower the longer it runs.
import type { Sql, TransactionSql as Transaction } from 'postgres'
import type { StoreErrorKind } from '../store-errors.ts'
import { PooledClient, TRANSACTION_LIMITS } from './pooled-client.ts'
import { build, Statement, tagged, withFragments, type Build } from './templates.ts'

export interface Pool {
  readonly sql: Sql
  /**
   * The same pool for the statements of one tenant, which use all connections but one at a time, so
   * that a statement of another tenant finds one without them. With fewer than three connections
   * they use all.
   */
  readonly ofTenant: (tenantId: string) => Sql
}

/** One of two may wait for a lock or a silent server, and the other one still serves. */
const TENANT_CONNECTIONS_MIN = 2

/**
 * Opens a pool. A statement or a transaction takes the connection with the lowest load, and the
 * first one of several. Sequential statements find a warm connection, and few statements queue
 * behind one that waits for a lock or for a silent server.
 *
 * @param connect makes a client of one connection.
 * @param limitMs how long a statement may go unanswered before its connection counts as lost. A
 *   silent connection would fail by itself only after TCP gives up, a quarter of an hour later.
 * @param failed is called for each statement or transaction that the store could not serve.
 */
export function openPool(
  size: number,
  connect: () => Sql,
  limitMs: number,
  failed: (kind: StoreErrorKind) => void = () => {},
): Pool {
  const clients = Array.from({ length: size }, () => new PooledClient(connect, failed))
  // Runs no statements. It builds identifiers, and listens on channels: that connection is never
  // replaced.
  const client = connect()
  const share = Math.max(TENANT_CONNECTIONS_MIN, size - 1)
  const choose = (tenantId: string | undefined): PooledClient => {
    const own = tenantId === undefined ? [] : clients.filter(({ uses }) => uses.has(tenantId))
    return leastLoaded(own.length < share ? clients : own, tenantId)
  }
  const open = (tenantId?: string): Sql => {
    const run = (buildFor: Build) => choose(tenantId).run(buildFor, { limitMs, tenantId })
    const pool = tagged(
      client,
      (strings, values) => new Statement((own) => build(own, strings, values), run),
    )
    return Object.assign(pool, {
      unsafe: (...text: [string]) => new Statement((own) => own.unsafe(...text), run),
      begin: (work: (tx: Transaction) => Promise<unknown>) =>
        choose(tenantId).run((own) => own.begin((tx) => work(withFragments(tx))), {
          ...TRANSACTION_LIMITS,
          tenantId,
        }),
      reserve: () => choose(tenantId).reserve(),
      async end(options?: { timeout?: number }) {
        await Promise.all(
          [client, ...clients.map((pooled) => pooled.client)].map((own) => own.end(options)),
        )
      },
    })
  }
  return { sql: open(), ofTenant: open }
}

/** The first one of several. */
function leastLoaded(clients: readonly PooledClient[], tenantId: string | undefined): PooledClient {
  return clients.reduce((best, candidate) =>
    candidate.loadFor(tenantId) < best.loadFor(tenantId) ? candidate : best,
  )
}
