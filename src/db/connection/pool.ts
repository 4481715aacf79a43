// Provides a pool of clients with one connection each. The driver's own pool (postgres 3.4.9) does
// not suit a long-running process: it keeps an entry in memory for each statement that it ever
// pipelined, and scans all entries for the next one. A busy process gets slower the longer it runs.
import type { Sql, TransactionSql as Transaction } from 'postgres'
import { isConnectionBroken, storeErrorKind, type StoreErrorKind } from './store-errors.ts'

/**
 * The load of a connection in exclusive use: more than any number of statements that queue
 * elsewhere.
 */
const EXCLUSIVE_WEIGHT = 100

/** Added to the load of a connection whose statement waits, for a lock or for a silent server. */
const WAITING_WEIGHT = 50
/** Longer than almost all statements take. */
const WAITING_MS = 50

/** Longer than any transaction of ours may take. The server limits each of its statements. */
const TRANSACTION_LIMITS = { weight: EXCLUSIVE_WEIGHT, limitMs: 15 * 60_000 }

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

type Build = (client: Sql) => Promise<unknown>

/** A tagged template. It is executed when it is awaited, or becomes a part of another template. */
class Statement {
  readonly buildFor: Build
  readonly #run: (buildFor: Build) => Promise<unknown>
  #result: Promise<unknown> | undefined

  constructor(buildFor: Build, run: (buildFor: Build) => Promise<unknown>) {
    this.buildFor = buildFor
    this.#run = run
  }

  // oxlint-disable-next-line unicorn/no-thenable -- so are the driver's own.
  then(...handlers: Parameters<Promise<unknown>['then']>): Promise<unknown> {
    return this.#started.then(...handlers)
  }

  catch(handler: (error: unknown) => unknown): Promise<unknown> {
    return this.#started.catch(handler)
  }

  finally(handler: () => void): Promise<unknown> {
    return this.#started.finally(handler)
  }

  get #started(): Promise<unknown> {
    return (this.#result ??= this.#run(this.buildFor))
  }
}

/** A transaction whose statements accept templates of the pool as parts. */
function withFragments(tx: Transaction): Transaction {
  return tagged(tx, (strings, values) => build(tx as never, strings, values)) as never
}

/**
 * A call without a template builds an identifier or a list of values: the client does that itself.
 */
function tagged<Client extends Sql | Transaction>(
  client: Client,
  template: (strings: TemplateStringsArray, values: readonly unknown[]) => unknown,
) {
  const tag = (strings: TemplateStringsArray, ...values: never[]): unknown =>
    Array.isArray(strings.raw) ? template(strings, values) : client(strings, ...values)
  return Object.assign(tag, client)
}

function build(client: Sql, strings: TemplateStringsArray, values: readonly unknown[]) {
  const resolved = values.map((value) => resolve(client, value))
  return client(strings, ...(resolved as never[]))
}

/** Builds a part, or a list of parts, with the client; other values pass unchanged. */
function resolve(client: Sql, value: unknown): unknown {
  if (value instanceof Statement) return value.buildFor(client)
  const isList = Array.isArray(value) && value[0] instanceof Statement
  return isList ? value.map((part) => resolve(client, part)) : value
}

interface Run {
  readonly weight?: number
  readonly limitMs: number
  readonly tenantId?: string | undefined
}

class PooledClient {
  client: Sql
  #load = 0
  /** When each statement and transaction in progress began, the oldest first. */
  readonly #begunMs = new Set<{ readonly atMs: number }>()
  /** The statements and transactions of each tenant that it has. */
  readonly uses = new Map<string, number>()
  #ofTenants = 0
  readonly #connect: () => Sql
  readonly #failed: (kind: StoreErrorKind) => void

  constructor(connect: () => Sql, failed: (kind: StoreErrorKind) => void) {
    this.client = connect()
    this.#connect = connect
    this.#failed = failed
  }

  /** Statements of other tenants count twice: they may yet turn out to wait for a lock. */
  loadFor(tenantId: string | undefined): number {
    const [oldest] = this.#begunMs
    const isWaiting = oldest !== undefined && performance.now() - oldest.atMs > WAITING_MS
    const ofOthers = this.#ofTenants - (this.uses.get(tenantId ?? '') ?? 0)
    return this.#load + ofOthers + (isWaiting ? WAITING_WEIGHT : 0)
  }

  /**
   * @throws the error of the work; after the time limit, the error that its connection was
   *   destroyed.
   */
  async run<Value>(
    work: (client: Sql) => Promise<Value>,
    { weight = 1, limitMs, tenantId }: Run,
  ): Promise<Value> {
    const { client } = this
    // A statement behind a transaction waits for the transaction, not for a silent server.
    const isBehind = this.#load >= EXCLUSIVE_WEIGHT
    this.#load += weight
    const begun = { atMs: performance.now() }
    this.#begunMs.add(begun)
    this.#count(tenantId, 1)
    const limit = setTimeout(() => isBehind || this.#renew(client), limitMs).unref()
    try {
      return await work(client)
    } catch (error) {
      const kind = storeErrorKind(error)
      if (kind !== undefined) this.#failed(kind)
      if (isConnectionBroken(error)) this.#renew(client)
      throw error
    } finally {
      clearTimeout(limit)
      this.#load -= weight
      this.#begunMs.delete(begun)
      this.#count(tenantId, -1)
    }
  }

  #count(tenantId: string | undefined, change: 1 | -1): void {
    if (tenantId === undefined) return
    this.#ofTenants += change
    const count = (this.uses.get(tenantId) ?? 0) + change
    if (count === 0) this.uses.delete(tenantId)
    else this.uses.set(tenantId, count)
  }

  async reserve(): ReturnType<Sql['reserve']> {
    const connection = await this.run(async (client) => {
      // A client that is not connected yet never resolves `reserve`.
      await client`select 1`
      return await client.reserve()
    }, TRANSACTION_LIMITS)
    this.#load += EXCLUSIVE_WEIGHT
    const release = connection.release.bind(connection)
    connection.release = () => {
      this.#load -= EXCLUSIVE_WEIGHT
      release()
    }
    return connection
  }

  /**
   * Replaces a lost client. It would report the last message of the server to its next statement
   * too.
   */
  #renew(lost: Sql): void {
    if (lost !== this.client) return
    this.client = this.#connect()
    void lost.end({ timeout: 0 })
  }
}
