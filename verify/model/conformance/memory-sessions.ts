// Sessions on the in-memory store. A session has at most one transaction and one statement at a
// time; the statement may wait for a lock.
import type { StatementRequest } from '../programs/requests.ts'
import type { Database, Row, Work } from '../store/rows.ts'
import { addWork, DEADLOCK_DETECTED, errorResultOf, NO_WORK } from '../store/rows.ts'
import { commit, executeStatement, type ExecutionResult } from '../store/memory-store.ts'
import type { Schema } from '../store/schema.ts'

/** The result of a statement. */
export type StatementResult =
  | { readonly kind: 'rows'; readonly rows: readonly Row[]; readonly count: number }
  | {
      readonly kind: 'error'
      readonly code: string
      /** The constraint or unique index that is violated. */
      readonly constraint?: string | undefined
    }

/** The result of the end of a transaction. */
export const DONE: StatementResult = { kind: 'rows', rows: [], count: 0 }

interface Session {
  /** Undefined: no transaction is open. */
  work: Work | undefined
  waitingStatement:
    | {
        readonly request: StatementRequest
        readonly snapshot: Database
        readonly passed: readonly number[]
      }
    | undefined
  /** The locks of the waiting statement. */
  locked: Work
  /** The session that it waits for. */
  blockedBy: number | undefined
}

export class MemorySessions {
  database: Database
  readonly #schema: Schema
  readonly #sessions: Session[]
  #attempts = 0

  constructor(schema: Schema, database: Database, count: number) {
    this.#schema = schema
    this.database = database
    this.#sessions = Array.from({ length: count }, () => ({
      work: undefined,
      waitingStatement: undefined,
      locked: NO_WORK,
      blockedBy: undefined,
    }))
  }

  /** To try what would follow. */
  copy(): MemorySessions {
    const copy = new MemorySessions(this.#schema, this.database, 0)
    copy.#sessions.push(...this.#sessions.map((session) => ({ ...session })))
    return copy
  }

  isWaiting(sessionId: number): boolean {
    return this.#session(sessionId).waitingStatement !== undefined
  }

  isOpen(sessionId: number): boolean {
    return this.#session(sessionId).work !== undefined
  }

  begin(sessionId: number): void {
    this.#session(sessionId).work = NO_WORK
  }

  /** Returns undefined if the statement waits. */
  execute(sessionId: number, request: StatementRequest): StatementResult | undefined {
    const session = this.#session(sessionId)
    session.waitingStatement = { request, snapshot: this.database, passed: [] }
    return this.resume(sessionId)
  }

  /** Tries a waiting statement again. */
  resume(sessionId: number): StatementResult | undefined {
    const session = this.#session(sessionId)
    this.#attempts += 1
    const executed = this.#try(sessionId)
    if (executed.kind === 'blocked') {
      session.locked = addWork(session.locked, executed.work)
      session.blockedBy = executed.blockedBy
      if (session.waitingStatement !== undefined) {
        session.waitingStatement = { ...session.waitingStatement, passed: executed.passed }
      }
      return undefined
    }
    return this.#complete(session, executed)
  }

  /** Whether a waiting statement no longer has to wait. */
  canResume(sessionId: number): boolean {
    return this.#try(sessionId).kind !== 'blocked'
  }

  #try(sessionId: number): ExecutionResult {
    const session = this.#session(sessionId)
    if (session.waitingStatement === undefined)
      throw new Error(`session ${sessionId} does not wait`)
    const { request, snapshot, passed } = session.waitingStatement
    const others = this.#sessions.map((other, index) =>
      index === sessionId ? NO_WORK : addWork(other.work ?? NO_WORK, other.locked),
    )
    const own = session.work ?? NO_WORK
    const view = { snapshot, current: this.database, own, others, passed }
    return executeStatement(this.#schema, view, request, `job-${this.#attempts}`)
  }

  #complete(
    session: Session,
    executed: Exclude<ExecutionResult, { kind: 'blocked' }>,
  ): StatementResult {
    session.waitingStatement = undefined
    session.locked = NO_WORK
    session.blockedBy = undefined
    if (executed.kind === 'error') return this.#fail(session, executed)
    const { result, work } = executed
    if (session.work !== undefined) {
      session.work = addWork(session.work, work)
      return { kind: 'rows', ...result }
    }
    const ended = this.#commit(work)
    return ended.kind === 'error' ? ended : { kind: 'rows', ...result }
  }

  #fail(
    session: Session,
    { code, constraint }: { readonly code: string; readonly constraint?: string | undefined },
  ): StatementResult {
    // A failed transaction releases its locks, although the session must still roll it back.
    if (session.work !== undefined) session.work = NO_WORK
    return { kind: 'error', code, constraint }
  }

  /** Whether the session is part of a cycle of sessions that wait for each other. */
  isDeadlocked(sessionId: number): boolean {
    const visited = new Set<number>()
    for (let at: number | undefined = sessionId; at !== undefined && !visited.has(at);) {
      visited.add(at)
      at = this.#session(at).blockedBy
      if (at === sessionId) return true
    }
    return false
  }

  /** Fails the statement that PostgreSQL chose as the victim of a deadlock. */
  breakDeadlock(sessionId: number): StatementResult {
    const session = this.#session(sessionId)
    session.waitingStatement = undefined
    session.locked = NO_WORK
    session.blockedBy = undefined
    return this.#fail(session, { code: DEADLOCK_DETECTED })
  }

  end(sessionId: number, way: 'commit' | 'rollback'): StatementResult {
    const { work } = this.#session(sessionId)
    this.lose(sessionId)
    return way === 'rollback' || work === undefined ? DONE : this.#commit(work)
  }

  #commit(work: Work): StatementResult {
    try {
      this.database = commit(this.#schema, this.database, work)
      return DONE
    } catch (error) {
      return errorResultOf(error)
    }
  }

  /** The connection is lost; uncommitted work is rolled back. */
  lose(sessionId: number): void {
    const nothing = { work: undefined, waitingStatement: undefined }
    Object.assign(this.#session(sessionId), nothing, { locked: NO_WORK, blockedBy: undefined })
  }

  #session(sessionId: number): Session {
    const session = this.#sessions[sessionId]
    if (session === undefined) throw new Error(`unknown session ${sessionId}`)
    return session
  }
}
