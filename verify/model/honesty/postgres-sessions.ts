// Sessions on PostgreSQL, each a connection of its own, with an eye on whether a statement waits for a lock. Nothing
// here waits for ever: what has neither ended nor waits for a lock in time is a failure.
import { setTimeout as delay } from 'node:timers/promises'
import { connectDriver, types, type Sql } from '../../../src/db/connection/client.ts'
import type { StatementRequest } from '../programs/requests.ts'
import { sendStatement } from '../store/on-postgres.ts'
import type { Row } from '../store/rows.ts'
import { DEADLOCK_DETECTED } from '../store/store-errors.ts'
import type { Told } from './memory-sessions.ts'

/** Longer than any statement of a history takes on the busiest machine. */
const PATIENCE_MS = 20_000
const LOOK_EACH_MS = 2
/** How soon PostgreSQL looks for a deadlock. */
const DEADLOCK_TIMEOUT = '20ms'

interface Session {
  sql: Sql
  pid: number
  /** What comes of the statement under way. */
  underWay: Promise<Told> | undefined
  told: Told | undefined
  /** The how manieth that was told anything. */
  order: number
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
    for (let place = 0; place < count; place += 1) this.#sessions.push(await this.#connect())
  }

  async #connect(): Promise<Session> {
    const sql = connect(this.#url)
    await sql.unsafe(`set deadlock_timeout = '${DEADLOCK_TIMEOUT}'`)
    const [row] = await sql.unsafe('select pg_backend_pid() as pid')
    return { sql, pid: Number(row?.['pid']), underWay: undefined, told: undefined, order: 0 }
  }

  async close(): Promise<void> {
    const clients = [this.#observer, ...this.#sessions.map(({ sql }) => sql)]
    await Promise.all(clients.map((sql) => sql.end({ timeout: 0 })))
  }

  get sql(): Sql {
    return this.#observer
  }

  async command(place: number, command: 'begin' | 'commit' | 'rollback'): Promise<void> {
    await this.#session(place).sql.unsafe(command)
  }

  /** Sends a statement. What it comes to is told by `outcome`. */
  send(place: number, { text, parameters }: StatementRequest): void {
    const session = this.#session(place)
    session.told = undefined
    session.underWay = sendStatement(session.sql, text, parameters).then(toldOf, errorOf)
    void session.underWay.then((told) => this.#hear(session, told))
  }

  #hear(session: Session, told: Told): void {
    this.#count += 1
    session.told = told
    session.order = this.#count
  }

  /**
   * What the statement under way has come to, or, as soon as it waits for a lock, undefined.
   *
   * @throws Error when it does neither in time.
   */
  async outcome(place: number): Promise<Told | undefined> {
    return await this.#until(place, async (session) =>
      session.told === undefined && !(await this.#isBlocked(session)) ? WAIT : session.told,
    )
  }

  /** @throws Error when it does not end in time. */
  async end(place: number): Promise<Told> {
    return await this.#until(place, async ({ told }) => told ?? WAIT)
  }

  /** Which of these sessions ends first: of several that wait for the same one it is up to PostgreSQL. */
  async first(places: readonly number[]): Promise<number> {
    const [place = 0] = places
    return await this.#until(place, async () => {
      const ended = places.filter((other) => this.#session(other).told !== undefined)
      const [first] = ended.toSorted(
        (one, other) => this.#session(one).order - this.#session(other).order,
      )
      return first ?? WAIT
    })
  }

  /** Which of these sessions is ended by a deadlock. Others that have waited for it may have ended by now, too. */
  async victim(places: readonly number[]): Promise<number> {
    const isVictim = ({ told }: Session) =>
      told?.kind === 'error' && told.code === DEADLOCK_DETECTED
    const [place = 0] = places
    return await this.#until(
      place,
      async () => places.find((other) => isVictim(this.#session(other))) ?? WAIT,
    )
  }

  async #until<Found>(
    place: number,
    look: (session: Session) => Promise<Found | typeof WAIT>,
  ): Promise<Found> {
    const session = this.#session(place)
    const until = performance.now() + PATIENCE_MS
    for (;;) {
      const found = await look(session)
      if (found !== WAIT) return found
      if (performance.now() > until) {
        throw new Error(`session ${place} neither ends nor waits for a lock`)
      }
      await delay(LOOK_EACH_MS)
    }
  }

  async #isBlocked({ pid }: Session): Promise<boolean> {
    const [row] = await this.#observer`
      select cardinality(pg_blocking_pids(${pid})) > 0 as blocked
    `
    return row?.['blocked'] === true
  }

  /** Ends the connection of a session, and gives it another one. */
  async lose(place: number): Promise<void> {
    const lost = this.#session(place)
    await this.#observer`select pg_terminate_backend(${lost.pid}, 5000)`
    await lost.underWay
    await lost.sql.end({ timeout: 0 })
    this.#sessions[place] = await this.#connect()
  }

  #session(place: number): Session {
    const session = this.#sessions[place]
    if (session === undefined) throw new Error(`there is no session ${place}`)
    return session
  }
}

const WAIT = Symbol('wait')

function connect(url: string): Sql {
  return connectDriver({ url, timeoutMs: PATIENCE_MS }, { types })
}

function toldOf(rows: { readonly count: number } & readonly object[]): Told {
  return { kind: 'rows', rows: [...rows] as Row[], count: rows.count }
}

function errorOf(error: unknown): Told {
  const code = error instanceof Error && 'code' in error ? String(error.code) : String(error)
  return { kind: 'error', code }
}
