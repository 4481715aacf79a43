// A session of the server that one client uses alone, with its settings. A pooler may ignore the
// settings with which a connection begins, and may execute each statement in another session. So a
// session is claimed before its first statement, and checked again while it is used.
import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import type { Sql, TransactionSql as Transaction } from 'postgres'
import { ConfigError } from '../../../config.ts'
import { readTables, type Tables } from '../../distributed/tables.ts'
import { connectDriver, type Database, type DriverOptions } from '../driver.ts'
import { together } from '../transaction.ts'
import { readServer, type LatestPrimaries, type Server } from '../server/server.ts'
import { ServerUnusable } from '../server/server-unusable.ts'
import { SESSION_UNUSABLE, storeErrorKind } from '../store-errors.ts'
import {
  claimSessionIfUnowned,
  readSettings,
  type SessionSetting,
  type SessionSettings,
} from './session-settings.ts'

/**
 * How long a check holds. A pooler whose mode was changed, and that kept the connections, is noticed
 * after this time.
 */
const CHECKED_FOR_MS = 10_000

/** Between 30 and 60 minutes, so that the sessions of a process do not end together. */
const LIFETIME_MS = { least: 30 * 60_000, spread: 30 * 60_000 }

export const OWN_SESSIONS =
  'Connect to PostgreSQL directly, or through a pooler in session mode that resets its sessions ' +
  '(for PgBouncer: pool_mode = session, server_reset_query = DISCARD ALL).'

/**
 * The routine that warns that a commit no longer waits for its standby: someone has cancelled it. The
 * server still reports success.
 *
 * @see https://www.postgresql.org/docs/current/warm-standby.html#SYNCHRONOUS-REPLICATION
 */
const REPLICATION_GIVEN_UP = 'SyncRepWaitForLSN'

/** The session is not its client's own, or cannot have its role or its settings. */
export class SessionError extends ConfigError {
  override name = 'SessionError'
  readonly code = SESSION_UNUSABLE

  constructor(reason: string, cause?: unknown) {
    super(reason)
    this.cause = cause
  }
}

const sessionEnded = () => new ServerUnusable('CONNECTION_CLOSED', 'the session has ended')

export class Session {
  /** Executes statements in this session. When it ends, they fail. */
  readonly sql: Sql
  readonly #id = randomUUID()
  readonly #settings: SessionSettings
  readonly #latest: LatestPrimaries
  readonly #endsAtMs = performance.now() + LIFETIME_MS.least + Math.random() * LIFETIME_MS.spread
  /** The settings as the server shows them, since it was claimed. */
  #claimed: readonly SessionSetting[] | undefined
  #checkedAtMs = -Infinity
  #tables: Tables | undefined
  #server: Server | undefined
  #proving: Promise<void> | undefined
  #isOver = false
  #socket: Socket | undefined
  #hasUnreplicatedCommit = false

  /** Rejects when the session ends. */
  readonly #ended = Promise.withResolvers<never>()

  /** Connects at the first statement. The driver needs to know the types of arrays. */
  constructor(database: Database, driver: DriverOptions, settings: SessionSettings) {
    this.#settings = settings
    this.#ended.promise.catch(() => {})
    this.#latest = database.latest
    const findHost = async () => {
      // The driver would connect again, and execute what it still has in an unclaimed session.
      if (this.isClaimed) throw sessionEnded()
      return await database.findHost()
    }
    this.sql = connectDriver(
      { ...database, findHost },
      {
        ...driver,
        max_lifetime: null,
        onclose: () => {
          this.#isOver = this.isClaimed
          if (this.#isOver) this.#ended.reject(sessionEnded())
        },
        onnotice: ({ routine }) => {
          if (routine === REPLICATION_GIVEN_UP) this.#hasUnreplicatedCommit = true
        },
      },
      (socket) => (this.#socket = socket),
    )
  }

  /**
   * Runs a transaction, which has the session to itself. Its `begin` leaves with the first statements of
   * the work. If the server refuses it, these are executed without a transaction: see `inTenant`.
   *
   * @param work must send nothing more once `begun` has rejected.
   * @throws the error of `begin`, of the work, or of the driver.
   */
  async begin<Result>(
    work: (tx: Transaction, begun: Promise<unknown>) => Promise<Result>,
  ): Promise<Result> {
    // The driver forgets statements that it has not sent when the connection is lost.
    const answered = <Value>(answer: Promise<Value>) => Promise.race([answer, this.#ended.promise])
    const own = await answered(this.sql.reserve())
    try {
      const begun = own.unsafe('begin').then(() => true)
      // Without a role, row-level security may not hold.
      if (!('role' in this.#settings)) await answered(begun)
      const [, result] = await answered(together([begun, work(own as never, begun)]))
      const { command } = await answered(own.unsafe('commit').then((committed) => committed))
      if (command !== 'COMMIT') throw new Error('a transaction went on after one of its errors')
      return result
    } catch (error) {
      // Into a lost connection the driver would write, which ends the process (postgres 3.4.9).
      if (!this.isOver) await answered(own.unsafe('rollback').then(() => true)).catch(() => {})
      throw error
    } finally {
      if (!this.isOver) own.release()
    }
  }

  /**
   * Closes the connection without waiting for its server, which is silent. The driver's own end waits
   * for it, and until then a transaction does not fail (postgres 3.4.9, `terminate`).
   */
  disconnect(): void {
    this.#socket?.destroy()
  }

  /** How many bytes the server has sent. */
  get bytesHeard(): number {
    return this.#socket?.bytesRead ?? 0
  }

  get isClaimed(): boolean {
    return this.#claimed !== undefined
  }

  /** Whether it is claimed and has not ended. */
  get isInUse(): boolean {
    return this.isClaimed && !this.isOver
  }

  /** Whether a statement may be executed without another proof. */
  get isProved(): boolean {
    const wasChecked = performance.now() - this.#checkedAtMs < CHECKED_FOR_MS
    return wasChecked && (this.#server === undefined || !this.#latest.isFormer(this.#server))
  }

  /** The server that has it, as it was at the last check. */
  get server(): Server | undefined {
    return this.#server
  }

  /** The tables of its database that are distributed over nodes; undefined if none is. */
  get tables(): Tables | undefined {
    return this.#tables
  }

  /** @throws ServerUnusable when a failover may lose a commit of the session, as if it got no answer. */
  requireReplicated(): void {
    if (!this.#hasUnreplicatedCommit) return
    throw new ServerUnusable(
      'CONNECTION_CLOSED',
      'a commit was cancelled before its standby had it',
    )
  }

  /** Whether another session has to replace it. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** Whether it has lasted so long that it should be replaced when it is idle. */
  get isOld(): boolean {
    return performance.now() > this.#endsAtMs
  }

  /**
   * Claims the session if it is new, and checks that it is the claimed one.
   *
   * @throws SessionError when it is another client's, lacks a setting, or cannot have it.
   * @throws ServerUnusable when its server is a former primary.
   * @throws the driver's error when the server cannot be reached.
   */
  async prove(): Promise<void> {
    if (this.isProved) return
    this.#proving ??= this.#claimAndCheck().finally(() => (this.#proving = undefined))
    await this.#proving
  }

  async #claimAndCheck(): Promise<void> {
    try {
      if (!this.#claimed) {
        this.#claimed = await this.#claim()
        this.#tables = await readTables(this.sql)
      }
      await this.#check(this.#claimed)
      this.#server = await readServer(this.sql)
      this.#latest.note(this.#server)
      this.#checkedAtMs = performance.now()
    } catch (error) {
      if (error instanceof SessionError || storeErrorKind(error) !== undefined) throw error
      const reason = error instanceof Error ? error.message : String(error)
      throw new SessionError(`The session could not be set up: ${reason}.`, error)
    }
  }

  async #claim(): Promise<SessionSetting[]> {
    const claimed = await claimSessionIfUnowned(this.sql, this.#id, this.#settings)
    if (claimed.length > 0) return claimed
    throw new SessionError(
      `A pooler gives the session of another client to this one. ${OWN_SESSIONS}`,
    )
  }

  async #check(claimed: readonly SessionSetting[]): Promise<void> {
    const current = await readSettings(
      this.sql,
      claimed.map(({ name }) => name),
    )
    const settings = new Map(current.map(({ name, setting }) => [name, setting]))
    const lost = claimed.filter(({ name, setting }) => settings.get(name) !== setting)
    if (lost.length === 0) return
    const names = lost.map(({ name }) => name).join(', ')
    throw new SessionError(`A pooler has changed the session, and lost ${names}. ${OWN_SESSIONS}`)
  }
}
