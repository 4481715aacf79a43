// One connection of a pool: how busy it is, and when it is replaced.
import type { Sql, TransactionSql as Transaction } from 'postgres'
import {
  isConnectionBroken,
  isFromOtherThanPrimary,
  storeErrorKind,
  type StoreErrorKind,
} from '../store-errors.ts'
import { hasLongStatements, TRANSACTION_MAX_MS } from '../transaction.ts'
import type { Session } from './session.ts'

/**
 * The load of a connection in exclusive use: more than any number of statements that queue
 * elsewhere.
 */
const EXCLUSIVE_WEIGHT = 100

/** Added to the load of a connection whose statement waits, for a lock or for a silent server. */
const WAITING_WEIGHT = 50
/** Longer than almost all statements take. */
const WAITING_MS = 50

/** The server limits each of its statements. */
const TRANSACTION_LIMITS = { weight: EXCLUSIVE_WEIGHT, limitMs: TRANSACTION_MAX_MS }

interface Run {
  readonly weight?: number
  readonly limitMs: number
  readonly tenantId?: string | undefined
}

export interface PooledClientOptions {
  readonly connect: () => Session
  /** Proves that the session of the client is its own. */
  readonly prove: (client: PooledClient) => Promise<void>
  readonly failed: (kind: StoreErrorKind) => void
}

export class PooledClient {
  session: Session
  #load = 0
  /** When each statement and transaction in progress began, the oldest first. */
  readonly #begunMs = new Set<{ readonly atMs: number }>()
  /** The statements and transactions of each tenant that it has. */
  readonly uses = new Map<string, number>()
  #ofTenants = 0
  /** The transactions in progress, once they have begun. */
  readonly #transactions = new Set<{ readonly tx?: Transaction }>()
  #isClosed = false
  readonly #options: PooledClientOptions

  constructor(options: PooledClientOptions) {
    this.session = options.connect()
    this.#options = options
  }

  /** Whether a statement or a transaction has been in progress for that long. */
  hasWaited(ms: number): boolean {
    const [oldest] = this.#begunMs
    return oldest !== undefined && performance.now() - oldest.atMs > ms
  }

  /** Statements of other tenants count twice: they may yet turn out to wait for a lock. */
  loadFor(tenantId: string | undefined): number {
    const ofOthers = this.#ofTenants - (this.uses.get(tenantId ?? '') ?? 0)
    return this.#load + ofOthers + (this.hasWaited(WAITING_MS) ? WAITING_WEIGHT : 0)
  }

  /**
   * @throws the error of the work; after the time limit, the error that its connection was
   *   destroyed.
   */
  async run<Value>(
    work: (session: Session) => Promise<Value>,
    { weight = 1, limitMs, tenantId }: Run,
  ): Promise<Value> {
    const isUnused = this.#load === 0
    if (this.session.isOver || (isUnused && this.session.isOld)) this.renew()
    const { session } = this
    // A statement behind a transaction waits for the transaction, not for a silent server.
    const isBehind = this.#load >= EXCLUSIVE_WEIGHT
    this.#load += weight
    const begun = { atMs: performance.now() }
    this.#begunMs.add(begun)
    this.#count(tenantId, 1)
    const limit = setTimeout(() => isBehind || this.renew(session), limitMs).unref()
    try {
      if (!session.isProved) await this.#options.prove(this)
      const value = await work(session)
      session.requireReplicated()
      return value
    } catch (error) {
      const kind = storeErrorKind(error)
      if (kind !== undefined) this.#options.failed(kind)
      // The new session may have another host.
      if (isConnectionBroken(error) || isFromOtherThanPrimary(error)) this.renew(session)
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

  /**
   * Runs a transaction. Within it the server answers each statement in time, or says that it was idle
   * for too long. So a session whose server says nothing for that long is lost, unless a transaction
   * may have long statements.
   */
  async transact<Value>(
    work: (session: Session, begun: (tx: Transaction) => void) => Promise<Value>,
    { silenceMs, tenantId }: { readonly silenceMs: number; readonly tenantId?: string | undefined },
  ): Promise<Value> {
    const own: { tx?: Transaction } = {}
    this.#transactions.add(own)
    const begun = (tx: Transaction) => void (own.tx = tx)
    const limits = { ...TRANSACTION_LIMITS, tenantId }
    const stop = this.#endSilent(silenceMs)
    try {
      return await this.run((session) => work(session, begun), limits)
    } finally {
      stop()
      this.#transactions.delete(own)
    }
  }

  #endSilent(silenceMs: number): () => void {
    let heard = { session: this.session, bytes: this.session.bytesHeard }
    const timer = setInterval(() => {
      const { session, bytes } = heard
      heard = { session: this.session, bytes: this.session.bytesHeard }
      const isSilent = heard.session === session && heard.bytes === bytes
      const mayBeSilent = [...this.#transactions].some(({ tx }) => tx && hasLongStatements(tx))
      if (!isSilent || mayBeSilent) return
      this.renew(session)
      session.disconnect()
    }, silenceMs).unref()
    return () => clearInterval(timer)
  }

  async reserve(): ReturnType<Sql['reserve']> {
    const connection = await this.run(async ({ sql: client }) => {
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
   * Replaces a lost session. Its driver would report the last message of the server to the next
   * statement too.
   */
  renew(lost: Session = this.session): void {
    if (this.#isClosed || lost !== this.session) return
    this.session = this.#options.connect()
    void lost.sql.end({ timeout: 0 })
  }

  /** Waits for its statements, at most that many seconds. Later ones are refused. */
  async end(options?: { timeout?: number }): Promise<void> {
    this.#isClosed = true
    await this.session.sql.end(options)
  }
}
