// Provides a pool of clients with one connection each. The driver's own pool (postgres 3.4.9) does
// not suit a long-running process: it keeps an entry in memory for each statement that it ever
// pipelined, and scans all entries for the next one. A busy process gets slower the longer it runs.
import type { Sql, TransactionSql as Transaction } from 'postgres'
import type { Database } from '../driver.ts'
import type { StoreErrorKind } from '../store-errors.ts'
import { followPrimary } from './follow-primary.ts'
import { PooledClient } from './pooled-client.ts'
import { SessionError, type Session } from './session.ts'
import { execute, runWork, Statement, tagged, templateOf, type Template } from './templates.ts'

export interface Pool {
  readonly sql: Sql
  /**
   * The same pool for the statements of one tenant, which use all connections but one at a time, so
   * that a statement of another tenant finds one without them. With fewer than three connections
   * they use all.
   */
  readonly ofTenant: (tenantId: string) => Sql
}

export interface PoolOptions {
  readonly size: number
  /** Makes a session, which connects at its first statement. */
  readonly connect: () => Session
  /**
   * How long a statement may go unanswered, or a transaction hear nothing, before the connection counts
   * as lost. A silent connection would fail by itself only after TCP gives up, a quarter of an hour later.
   */
  readonly limitMs: number
  readonly database: Pick<Database, 'findPrimary'>
  /** Is called for each statement or transaction that the store could not serve. */
  readonly failed?: ((kind: StoreErrorKind) => void) | undefined
}

/** One of two may wait for a lock or a silent server, and the other one still serves. */
const TENANT_CONNECTIONS_MIN = 2

/**
 * Opens a pool. A statement or a transaction takes the connection with the lowest load, and the
 * first one of several. Sequential statements find a warm connection, and few statements queue
 * behind one that waits for a lock or for a silent server. While a statement waits, the pool looks for
 * the primary, and gives up the sessions of another server.
 */
export function openPool({ size, connect, limitMs, database, failed }: PoolOptions): Pool {
  const proofs = new Proofs()
  const prove = ({ session }: PooledClient): Promise<void> => proofs.prove(clients, session)
  const clients: readonly PooledClient[] = Array.from(
    { length: size },
    () => new PooledClient({ connect, prove, failed: failed ?? ignore }),
  )
  const stopFollowing = followPrimary(clients, database)
  // Runs no statements. It builds identifiers.
  const client = connect().sql
  const share = Math.max(TENANT_CONNECTIONS_MIN, size - 1)
  const choose = (tenantId: string | undefined): PooledClient => {
    const own = tenantId === undefined ? [] : clients.filter(({ uses }) => uses.has(tenantId))
    return leastLoaded(own.length < share ? clients : own, tenantId)
  }
  const open = (tenantId?: string): Sql => {
    const limits = { limitMs, tenantId }
    const run = (template: Template) =>
      choose(tenantId).run(({ sql, tables }) => execute(sql, template, tables), limits)
    const pool = tagged(client, (template) => new Statement(template, run))
    const all = Object.assign(pool, {
      unsafe: (...text: [string]) =>
        new Statement(templateOf(text[0]), () =>
          choose(tenantId).run(({ sql }) => sql.unsafe(...text), limits),
        ),
      begin: (work: (tx: Transaction) => Promise<unknown>) =>
        choose(tenantId).transact(
          (session, note) =>
            session.begin((own, begun) =>
              runWork({ own, begun }, session.tables, (tx) => {
                note(tx)
                return work(tx)
              }),
            ),
          { silenceMs: limitMs, tenantId },
        ),
      reserve: () => choose(tenantId).reserve(),
      async end(options?: { timeout?: number }) {
        stopFollowing()
        await Promise.all([client, ...clients].map((own) => own.end(options)))
      },
    })
    clientsOf.set(all, clients)
    return all
  }
  return { sql: open(), ofTenant: open }
}

function ignore(): void {}

/**
 * Proves that sessions of the clients are their own. A single session of a pooler that shares them
 * looks the same. So the first one is never claimed alone: such a pooler gives it, when it is idle,
 * to the next client too.
 */
class Proofs {
  #first: Promise<void> | undefined

  /**
   * @throws SessionError after closing all connections: the others are not their clients' own either.
   */
  async prove(clients: readonly PooledClient[], session: Session): Promise<void> {
    try {
      const all = clients.map((client) => client.session)
      if (!session.isClaimed && all.filter((other) => other.isInUse).length < 2) {
        const others = all.filter((other) => other !== session)
        this.#first ??= proveFirst(session, others[0]).finally(() => (this.#first = undefined))
        await this.#first
      }
      await session.prove()
    } catch (error) {
      if (error instanceof SessionError) for (const client of clients) client.renew()
      throw error
    }
  }
}

async function proveFirst(session: Session, other: Session | undefined): Promise<void> {
  await session.prove()
  await other?.prove().catch((error: unknown) => {
    // The server may have no room for the other one, for example.
    if (error instanceof SessionError) throw error
  })
}

const clientsOf = new WeakMap<Sql, readonly PooledClient[]>()

/** Ends all sessions of a pool. Their statements fail, and later ones are executed in new sessions. */
export function endSessions(sql: Sql): void {
  for (const client of clientsOf.get(sql) ?? []) client.renew()
}

/** The first one of several. */
function leastLoaded(clients: readonly PooledClient[], tenantId: string | undefined): PooledClient {
  return clients.reduce((best, candidate) =>
    candidate.loadFor(tenantId) < best.loadFor(tenantId) ? candidate : best,
  )
}
