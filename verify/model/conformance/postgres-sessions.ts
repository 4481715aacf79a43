// Sessions on PostgreSQL, each with its own connection, which detect whether a statement waits for
// a lock. Every wait has a timeout: a statement that neither ends nor waits for a lock in time is a
// failure.
import { setTimeout as delay } from 'node:timers/promises'
import { type Sql, types } from '../../../src/db/connection/client.ts'
import type { Database, Row, Value } from '../store/rows.ts'
import { constraintOf, DEADLOCK_DETECTED, decodeBytes } from '../store/rows.ts'
import { connectDriver, readDatabase } from '../../../src/db/connection/driver.ts'
import type { StatementRequest } from '../programs/requests.ts'
import { DONE, type StatementResult } from './memory-sessions.ts'

/** Every table that programs write to. */
const TABLES_TO_EMPTY = [
  'idempotency_keys',
  'disputes',
  'refunds',
  'payments',
  'phase_runs',
  'ledger_postings',
  'events',
  'provider_events',
  'key_tombstones',
  'reconciliation_findings',
  'atomic_jobs.job',
  'tenants',
]
const TABLES_TO_FILL = ['tenants', 'payments', 'refunds', 'idempotency_keys'] as const

/** @param database the initial rows; their timestamps are relative to now. */
export async function fillStore(sql: Sql, database: Database): Promise<void> {
  await sql.unsafe(`truncate ${TABLES_TO_EMPTY.join()} cascade`)
  for (const table of TABLES_TO_FILL) {
    const rows = (database[table] ?? []).map(toTimestamps)
    if (rows.length === 0) continue
    await sql.unsafe(
      `insert into ${table} select * from jsonb_populate_recordset(null::${table}, $1::jsonb)`,
      [JSON.stringify(rows)],
    )
  }
}

/** Replaces seconds relative to now by timestamps. */
function toTimestamps(row: Row): Row {
  const now = Date.now()
  const entries = Object.entries(row).map(([name, value]) => {
    const isTimestamp = name.endsWith('_at') && typeof value === 'number'
    return [name, isTimestamp ? new Date(now + value * 1_000).toISOString() : value]
  })
  return Object.fromEntries(entries) as Row
}

/** Sends a statement with the parameters of the model. */
function sendStatement(sql: Sql, text: string, parameters: readonly Value[]) {
  const strings = text.split(/\$\d+/)
  const template = Object.assign(strings, { raw: strings }) as unknown as TemplateStringsArray
  return sql(template, ...(parameters.map((value) => decodeBytes(value)) as never[]))
}

/** Longer than any statement of a history takes on a loaded machine. */
const TIMEOUT_MS = 20_000
const POLL_INTERVAL_MS = 2
/** PostgreSQL checks for a deadlock after this time. */
const DEADLOCK_TIMEOUT = '20ms'

interface Session {
  sql: Sql
  pid: number
  /** The result of the running statement. */
  running: Promise<StatementResult> | undefined
  result: StatementResult | undefined
  /** Position of the last result in the order in which results arrived. */
  completionOrder: number
}

export class PostgresSessions {
  readonly #url: string
  readonly #observer: Sql
  readonly #sessions: Session[] = []
  #count = 0

  constructor(url: string) {
    this.#url = url
    this.#observer = connect(url)
  }

  async open(count: number): Promise<void> {
    for (let sessionId = 0; sessionId < count; sessionId += 1)
      this.#sessions.push(await this.#connect())
  }

  async #connect(): Promise<Session> {
    const sql = connect(this.#url)
    await sql.unsafe(`set deadlock_timeout = '${DEADLOCK_TIMEOUT}'`)
    const [row] = await sql.unsafe('select pg_backend_pid() as pid')
    return {
      sql,
      pid: Number(row?.['pid']),
      running: undefined,
      result: undefined,
      completionOrder: 0,
    }
  }

  async close(): Promise<void> {
    const clients = [this.#observer, ...this.#sessions.map(({ sql }) => sql)]
    await Promise.all(clients.map((sql) => sql.end({ timeout: 0 })))
  }

  get sql(): Sql {
    return this.#observer
  }

  async command(
    sessionId: number,
    command: 'begin' | 'commit' | 'rollback',
  ): Promise<StatementResult> {
    const { sql } = this.#session(sessionId)
    return await sql.unsafe(command).then(() => DONE, failureOf)
  }

  /** Sends a statement. `outcome` returns its result. */
  send(sessionId: number, { text, parameters }: StatementRequest): void {
    const session = this.#session(sessionId)
    session.result = undefined
    session.running = sendStatement(session.sql, text, parameters).then(resultOf, failureOf)
    void session.running.then((result) => this.#record(session, result))
  }

  #record(session: Session, result: StatementResult): void {
    this.#count += 1
    session.result = result
    session.completionOrder = this.#count
  }

  /**
   * The result of the running statement, or undefined as soon as it waits for a lock.
   *
   * @throws Error when neither happens in time.
   */
  async outcome(sessionId: number): Promise<StatementResult | undefined> {
    // Most statements end at once. To ask for locks costs more than they do.
    await Promise.race([this.#session(sessionId).running, delay(POLL_INTERVAL_MS)])
    return await this.#until(sessionId, async (session) =>
      session.result === undefined && !(await this.#isBlocked(session)) ? WAIT : session.result,
    )
  }

  /** @throws Error when the statement does not end in time. */
  async end(sessionId: number): Promise<StatementResult> {
    return await this.#until(sessionId, async ({ result }) => result ?? WAIT)
  }

  /** The session that ends first. If several wait for the same session, PostgreSQL chooses. */
  async first(sessionIds: readonly number[]): Promise<number> {
    const [sessionId = 0] = sessionIds
    return await this.#until(sessionId, async () => {
      const ended = sessionIds.filter((other) => this.#session(other).result !== undefined)
      const [first] = ended.toSorted(
        (one, other) => this.#session(one).completionOrder - this.#session(other).completionOrder,
      )
      return first ?? WAIT
    })
  }

  /** The session that a deadlock ended. Sessions that waited for it may have ended, too. */
  async victim(sessionIds: readonly number[]): Promise<number> {
    const isVictim = ({ result }: Session) =>
      result?.kind === 'error' && result.code === DEADLOCK_DETECTED
    const [sessionId = 0] = sessionIds
    return await this.#until(
      sessionId,
      async () => sessionIds.find((other) => isVictim(this.#session(other))) ?? WAIT,
    )
  }

  async #until<Found>(
    sessionId: number,
    look: (session: Session) => Promise<Found | typeof WAIT>,
  ): Promise<Found> {
    const session = this.#session(sessionId)
    const until = performance.now() + TIMEOUT_MS
    for (;;) {
      const found = await look(session)
      if (found !== WAIT) return found
      if (performance.now() > until) {
        throw new Error(`session ${sessionId} neither ends nor waits for a lock`)
      }
      await delay(POLL_INTERVAL_MS)
    }
  }

  /** Whether it waits for another session. Autovacuum blocks a statement only for a moment. */
  async #isBlocked({ pid }: Session): Promise<boolean> {
    const pids = this.#sessions.map((session) => session.pid)
    const [row] = await this.#observer`
      select pg_blocking_pids(${pid}) && ${pids}::integer[] as blocked
    `
    return row?.['blocked'] === true
  }

  /** Terminates the connection of a session, and opens a new one. */
  async lose(sessionId: number): Promise<void> {
    const lost = this.#session(sessionId)
    await this.#observer`select pg_terminate_backend(${lost.pid}, 5000)`
    await lost.running
    await lost.sql.end({ timeout: 0 })
    this.#sessions[sessionId] = await this.#connect()
  }

  #session(sessionId: number): Session {
    const session = this.#sessions[sessionId]
    if (session === undefined) throw new Error(`unknown session ${sessionId}`)
    return session
  }
}

const WAIT = Symbol('wait')

function connect(url: string): Sql {
  return connectDriver(readDatabase(url, TIMEOUT_MS), { types })
}

function resultOf(rows: { readonly count: number } & readonly object[]): StatementResult {
  return { kind: 'rows', rows: [...rows] as Row[], count: rows.count }
}

function failureOf(error: unknown): StatementResult {
  if (!(error instanceof Error && 'code' in error)) return { kind: 'error', code: String(error) }
  return { kind: 'error', code: String(error.code), constraint: constraintOf(error) }
}
