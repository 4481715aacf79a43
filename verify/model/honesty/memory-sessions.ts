// Sessions on the store in memory: each has a transaction or none, and one statement at a time, which may wait.
import type { StatementRequest } from '../programs/requests.ts'
import { addWork, NO_WORK, type Database, type Work } from '../store/database.ts'
import { commit, executeStatement, type Executed } from '../store/memory-store.ts'
import type { Row } from '../store/rows.ts'
import type { Schema } from '../store/schema.ts'
import { DEADLOCK_DETECTED } from '../store/store-errors.ts'

/** What a session is told. */
export type Told =
  | { readonly kind: 'rows'; readonly rows: readonly Row[]; readonly count: number }
  | { readonly kind: 'error'; readonly code: string }

interface Session {
  /** Undefined: no transaction is open. */
  work: Work | undefined
  hasFailed: boolean
  waiting: { readonly request: StatementRequest; readonly snapshot: Database } | undefined
  /** What the statement that waits has locked. */
  locked: Work
  /** For whom it waits. */
  by: number | undefined
}

const IN_FAILED_TRANSACTION = '25P02'

export class MemorySessions {
  database: Database
  readonly #schema: Schema
  readonly #sessions: Session[]
  #count = 0

  constructor(schema: Schema, database: Database, count: number) {
    this.#schema = schema
    this.database = database
    this.#sessions = Array.from({ length: count }, () => ({
      work: undefined,
      hasFailed: false,
      waiting: undefined,
      locked: NO_WORK,
      by: undefined,
    }))
  }

  isWaiting(place: number): boolean {
    return this.#session(place).waiting !== undefined
  }

  isOpen(place: number): boolean {
    return this.#session(place).work !== undefined
  }

  begin(place: number): void {
    this.#session(place).work = NO_WORK
  }

  /** Undefined: it waits. */
  execute(place: number, request: StatementRequest): Told | undefined {
    const session = this.#session(place)
    if (session.hasFailed) return { kind: 'error', code: IN_FAILED_TRANSACTION }
    session.waiting = { request, snapshot: this.database }
    return this.goOn(place)
  }

  /** Tries a statement that waits once more. */
  goOn(place: number): Told | undefined {
    const session = this.#session(place)
    this.#count += 1
    const executed = this.#try(place)
    if (executed.kind === 'blocked') {
      session.locked = addWork(session.locked, executed.work)
      session.by = executed.by
      return undefined
    }
    return this.#settle(session, executed)
  }

  /** Whether a statement that waits has nothing to wait for any more. */
  canGoOn(place: number): boolean {
    return this.#try(place).kind !== 'blocked'
  }

  #try(place: number): Executed {
    const session = this.#session(place)
    if (session.waiting === undefined) throw new Error('nothing waits')
    const { request, snapshot } = session.waiting
    const others = this.#sessions.map((other, index) =>
      index === place ? NO_WORK : addWork(other.work ?? NO_WORK, other.locked),
    )
    const own = session.work ?? NO_WORK
    const view = { snapshot, current: this.database, own, others }
    return executeStatement(this.#schema, view, request, `job-${this.#count}`)
  }

  #settle(session: Session, executed: Exclude<Executed, { kind: 'blocked' }>): Told {
    session.waiting = undefined
    session.locked = NO_WORK
    session.by = undefined
    if (executed.kind === 'error') return this.#fail(session, executed.code)
    const { result, work } = executed
    if (session.work === undefined) this.database = commit(this.#schema, this.database, work)
    else session.work = addWork(session.work, work)
    return { kind: 'rows', ...result }
  }

  #fail(session: Session, code: string): Told {
    session.hasFailed = session.work !== undefined
    // Its locks are let go with the transaction, which is over in all but name.
    if (session.work !== undefined) session.work = NO_WORK
    return { kind: 'error', code }
  }

  /** Whether those that wait wait for each other, in a ring that this one is of. */
  isDeadlocked(place: number): boolean {
    const seen = new Set<number>()
    for (let at: number | undefined = place; at !== undefined && !seen.has(at);) {
      seen.add(at)
      at = this.#session(at).by
      if (at === place) return true
    }
    return false
  }

  /** PostgreSQL has chosen this one to end a deadlock. */
  breakDeadlock(place: number): Told {
    const session = this.#session(place)
    session.waiting = undefined
    session.locked = NO_WORK
    session.by = undefined
    return this.#fail(session, DEADLOCK_DETECTED)
  }

  end(place: number, way: 'commit' | 'rollback'): void {
    const session = this.#session(place)
    if (way === 'commit' && !session.hasFailed && session.work !== undefined) {
      this.database = commit(this.#schema, this.database, session.work)
    }
    this.lose(place)
  }

  /** The connection is gone, and with it what was not committed. */
  lose(place: number): void {
    const nothing = { work: undefined, hasFailed: false, waiting: undefined }
    Object.assign(this.#session(place), nothing, { locked: NO_WORK, by: undefined })
  }

  #session(place: number): Session {
    const session = this.#sessions[place]
    if (session === undefined) throw new Error(`there is no session ${place}`)
    return session
  }
}
