// A session of the server, which runs one unit of work at a time: a statement or a transaction. Behind a
// pooler, each transaction may have another session of the server: so it sets all that it needs itself.
import type { Socket } from 'node:net'
import type { Sql, TransactionSql as Transaction } from 'postgres'
import { ConfigError } from '../../../config-formats.ts'
import { connectDriver, type Database, type DriverOptions } from '../driver.ts'
import { readServer, type LatestPrimaries, type Server } from '../server/server.ts'
import { ServerUnusable } from '../server/server-socket.ts'
import { isConnectionLost, SESSION_UNUSABLE, storeErrorKind } from '../store-errors.ts'
import { commitAtOnce, hasLongStatements } from '../transaction.ts'
import {
  beginWithSettings,
  readConnection,
  settingsOfSession,
  type SessionSettings,
} from './session-settings.ts'

/** How long a look at the server holds: see `LatestPrimaries`. */
const CHECKED_FOR_MS = 10_000

/** Between 30 and 60 minutes, so that the sessions of a process do not end together. */
const LIFETIME_MS = { least: 30 * 60_000, spread: 30 * 60_000 }

/**
 * The routine that warns that a commit no longer waits for its standby: someone has cancelled it. The
 * server still reports success.
 *
 * @see https://www.postgresql.org/docs/current/warm-standby.html#SYNCHRONOUS-REPLICATION
 */
const REPLICATION_GIVEN_UP = 'SyncRepWaitForLSN'

/** The session cannot have its role or its settings. */
export class SessionError extends ConfigError {
  override name = 'SessionError'
  readonly code = SESSION_UNUSABLE

  constructor(reason: string, cause?: unknown) {
    super(reason)
    this.cause = cause
  }
}

/** PgBouncer does so in statement mode. */
const refusesTransactions = () =>
  new SessionError(
    'A pooler closed the connection when its first transaction began, as in statement mode. ' +
      'Use its transaction mode, or its session mode.',
  )

/** Never resolves: see `#use`. */
const connectionToClose = (): Promise<never> => new Promise(() => {})

const sessionEnded = () => new ServerUnusable('CONNECTION_CLOSED', 'the session has ended')

export class Session {
  /** Its one connection. Work on it goes through the session. */
  readonly sql: Sql
  readonly #settings: SessionSettings
  readonly #latest: LatestPrimaries
  readonly #endsAtMs = performance.now() + LIFETIME_MS.least + Math.random() * LIFETIME_MS.spread
  /** Begins a transaction. A session of its own already has its settings. */
  #begin = 'begin'
  #isConnected = false
  #isSetUp = false
  #isPooled = false
  #isDistributed = false
  #checkedAtMs = -Infinity
  /** The server that has it, as it was at the last check. */
  server: Server | undefined
  /** Whether another session has to replace it. */
  isOver = false
  #socket: Socket | undefined
  #hasUnreplicatedCommit = false
  #transaction: Transaction | undefined
  /** What it means when the session ends. */
  #endError: () => Error = sessionEnded
  /** Ends the unit of work when the session ends. */
  #lose: ((error: Error) => void) | undefined

  /** Connects at the first statement. The driver needs to know the types of arrays. */
  constructor(database: Database, driver: DriverOptions, settings: SessionSettings) {
    this.#settings = settings
    this.#latest = database.latest
    const findHost = async () => {
      // The driver would connect again, and go on with the rest of a transaction.
      if (this.#isConnected) throw sessionEnded()
      return await database.findHost()
    }
    this.sql = connectDriver(
      { ...database, findHost },
      {
        ...driver,
        max_lifetime: null,
        onclose: () => {
          // Otherwise the driver connects again.
          if (!this.#isConnected) return
          this.isOver = true
          this.#lose?.(this.#endError())
        },
        onnotice: ({ routine }) => {
          if (routine === REPLICATION_GIVEN_UP) this.#hasUnreplicatedCommit = true
        },
      },
      (socket) => (this.#socket = socket),
    )
  }

  /** Executes a statement, with the settings of the session and without a tenant. */
  async execute<Answer>(send: (sql: Sql | Transaction) => PromiseLike<Answer>): Promise<Answer> {
    const sendAll = async (sql: Sql | Transaction) => await send(sql)
    return await this.#use(() => (this.#isPooled ? this.#transact(sendAll) : sendAll(this.sql)))
  }

  /** Executes a text with the values of its parameters, or of several statements without any. */
  async executeText(...sent: Parameters<Sql['unsafe']>): Promise<unknown> {
    try {
      return await this.execute((sql) => sql.unsafe(...sent))
    } catch (error) {
      // Its text may have begun a transaction.
      if ((sent[1] ?? []).length === 0) this.lose()
      throw error
    }
  }

  /**
   * Runs a transaction. Its `begin` leaves with the first statements of the work. If the server refuses
   * it, these are executed without a transaction: see `inTenant`.
   *
   * @throws the error of `begin`, of the work, or of the driver.
   */
  async begin<Result>(work: (tx: Transaction) => Promise<Result>): Promise<Result> {
    return await this.#use(() => this.#transact(work))
  }

  async #transact<Result>(work: (tx: Transaction) => Promise<Result>): Promise<Result> {
    const sql = this.sql
    let isWorking = true
    let begun: Promise<unknown> | undefined
    let committing: Promise<{ readonly command: string }> | undefined
    const begin = (text = this.#begin): Promise<unknown> => {
      begun = sql.unsafe(text).then((answer) => answer)
      begun.catch(() => (isWorking = false))
      return begun
    }
    const commit = () => {
      isWorking = false
      return (committing ??= sql.unsafe('commit').then((committed) => committed))
    }
    const requireWorking = () => {
      if (!isWorking) throw new Error('a statement without its transaction')
    }
    const tx = (strings: TemplateStringsArray, ...values: never[]) => {
      if (Array.isArray(strings.raw)) {
        requireWorking()
        if (begun === undefined) void begin()
      }
      return sql(strings, ...values)
    }
    const unsafe = (...[text, ...values]: Parameters<Sql['unsafe']>) => {
      requireWorking()
      // Citus would pass the whole message of a setting on to its nodes.
      const isJoined = begun === undefined && values.length === 0 && !this.#isDistributed
      if (isJoined) return begin(`${this.#begin}; ${text}`)
      if (begun === undefined) void begin()
      return sql.unsafe(text, ...values)
    }
    const own: Transaction = Object.assign(tx, { unsafe }) as never
    const finishing = async (working: Promise<Result>): Promise<Result> => {
      try {
        return await working
      } finally {
        isWorking = false
        // Its error is why the statements behind it failed.
        await begun
      }
    }
    // Behind the microtasks in which awaited statements leave, and before the driver writes.
    const commitLater = () => process.nextTick(() => void commit().catch(() => {}))
    commitAtOnce.set(own, () => queueMicrotask(commitLater))
    this.#transaction = own
    try {
      // Without a role, row-level security may not hold.
      if (!('role' in this.#settings)) await begin()
      const result = await finishing(work(own))
      if (begun === undefined) return result
      const { command } = await commit()
      if (command !== 'COMMIT') throw new Error('a transaction went on after one of its errors')
      return result
    } catch (error) {
      // The server has rolled back. The driver would write into the lost connection, which ends the
      // process (postgres 3.4.9): the unit of work fails when the connection is closed.
      if (isConnectionLost(error)) await connectionToClose()
      const isOver = this.isOver || begun === undefined
      if (!isOver) await (committing ?? sql.unsafe('rollback')).catch(() => {})
      throw error
    } finally {
      this.#transaction = undefined
    }
  }

  /** Runs one unit of work, which fails when the session ends. */
  async #use<Result>(work: () => Promise<Result>): Promise<Result> {
    const lost = Promise.withResolvers<never>()
    this.#lose = lost.reject
    try {
      return await Promise.race([this.#prepareAnd(work), lost.promise])
    } finally {
      this.#lose = undefined
    }
  }

  async #prepareAnd<Result>(work: () => Promise<Result>): Promise<Result> {
    if (!this.#isChecked) await this.#prepare()
    const result = await work()
    if (!this.#hasUnreplicatedCommit) return result
    throw new ServerUnusable(
      'CONNECTION_CLOSED',
      'a commit was cancelled before its standby had it',
    )
  }

  get #isChecked(): boolean {
    const wasChecked = performance.now() - this.#checkedAtMs < CHECKED_FOR_MS
    return wasChecked && (this.server === undefined || !this.#latest.isFormer(this.server))
  }

  /**
   * @throws SessionError when the session cannot have its settings.
   * @throws ServerUnusable when its server is a former primary.
   * @throws the driver's error when the server cannot be reached.
   */
  async #prepare(): Promise<void> {
    try {
      if (!this.#isSetUp) await this.#setUp()
      this.server = await readServer(this.sql)
      this.#latest.note(this.server)
      this.#checkedAtMs = performance.now()
    } catch (error) {
      if (storeErrorKind(error) !== undefined) throw error
      const reason = error instanceof Error ? error.message : String(error)
      throw new SessionError(`The session could not be set up: ${reason}.`, error)
    }
  }

  /** Behind a pooler nothing may be set in a session, and no statement prepared. */
  async #setUp(): Promise<void> {
    const { isPooled, isDistributed } = await readConnection(this.sql)
    this.#isPooled = isPooled
    this.#isDistributed = isDistributed
    this.#isConnected = true
    if (this.#isPooled) {
      Object.assign(this.sql.options, { prepare: false })
      this.#begin = beginWithSettings(this.#settings)
      this.#endError = refusesTransactions
      await this.sql.unsafe('begin')
      await this.sql.unsafe('rollback')
      this.#endError = sessionEnded
    } else {
      await this.sql.unsafe(settingsOfSession(this.#settings))
    }
    this.#isSetUp = true
  }

  /** Whether the server may say nothing for longer than a statement may take. */
  get mayBeSilent(): boolean {
    return this.#transaction !== undefined && hasLongStatements(this.#transaction)
  }

  /** How many bytes the server has sent. */
  get bytesHeard(): number {
    return this.#socket?.bytesRead ?? 0
  }

  /** Whether it has lasted so long that it should be replaced when it is idle. */
  get isOld(): boolean {
    return performance.now() > this.#endsAtMs
  }

  /**
   * Ends it without waiting for its server, which may be silent. The driver's own end waits for it, and
   * until then a transaction does not fail (postgres 3.4.9, `terminate`).
   */
  lose(): void {
    this.isOver = true
    this.#lose?.(sessionEnded())
    this.#socket?.destroy()
    void this.sql.end({ timeout: 0 })
  }
}
