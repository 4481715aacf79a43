// Runs a program of the product on PostgreSQL, one request at a time under the control of the
// replay.
import { randomUUIDv7 } from 'node:crypto'
import type { Sql } from '../../../src/db/connection/client.ts'
import type { Answer, Request, StatementRequest } from '../programs/requests.ts'
import { Run, type Environment } from '../programs/run.ts'
import { RowIds } from '../programs/row-ids.ts'
import { symbolOf } from '../programs/symbols.ts'
import { sendStatement } from '../store/postgres-store.ts'
import { errorResultOf } from '../store/store-errors.ts'
import type { Connections } from './connections.ts'

export class LiveProgram {
  readonly #run: Run
  readonly #connections: Connections
  readonly #sql: Sql
  readonly #ids = new RowIds(() => randomUUIDv7())
  #isOpen = false
  /** Whether its lease ran out since the last answer. */
  isLate = false
  /** Number of answers received. */
  depth = 0

  /**
   * @param ids the ids for the rows that the program inserts, in the order in which it generates
   *   them.
   */
  constructor(
    program: (environment: Environment) => Promise<unknown>,
    connections: Connections,
    ids: readonly string[] = [],
  ) {
    for (const [index, id] of ids.entries()) this.#ids.add(symbolOf(index + 1), id)
    this.#run = new Run(program)
    this.#connections = connections
    this.#sql = connections.acquire()
  }

  runUntilPending(): Promise<void> {
    return this.#run.runUntilPending()
  }

  get pending(): Request | undefined {
    return this.#run.pending
  }

  /**
   * Executes the pending request. The program receives the result, or a lost connection if the
   * answer is lost.
   */
  async executePending(isAnswerDelivered: boolean): Promise<void> {
    const { pending } = this
    if (pending === undefined || pending.kind === 'call') throw new Error('no statement is pending')
    const answer =
      pending.kind === 'statement' ? await this.#execute(pending) : await this.#end(pending)
    await this.answer(isAnswerDelivered ? answer : { kind: 'connection_lost' })
  }

  /** Loses the connection before the pending request is executed; PostgreSQL rolls back. */
  async loseConnection(): Promise<void> {
    await this.#rollBack()
    await this.answer({ kind: 'connection_lost' })
  }

  async answer(answer: Answer): Promise<void> {
    this.depth += 1
    await this.#run.answer(this.isLate ? { ...answer, late: true } : answer)
    this.isLate = false
  }

  async crash(): Promise<void> {
    this.#run.abandon()
    await this.#rollBack()
    this.#connections.release(this.#sql)
  }

  /** What PostgreSQL does when the connection is lost. */
  async #rollBack(): Promise<void> {
    if (this.#isOpen) await this.#sql.unsafe('rollback')
    this.#isOpen = false
  }

  async #end({ kind }: { readonly kind: 'commit' | 'rollback' }): Promise<Answer> {
    const wasOpen = this.#isOpen
    this.#isOpen = false
    try {
      if (wasOpen) await this.#sql.unsafe(kind)
      return { kind: 'done' }
    } catch (error) {
      return errorResultOf(error)
    }
  }

  async #execute({ transaction, text, parameters }: StatementRequest): Promise<Answer> {
    if (transaction !== null && !this.#isOpen) {
      await this.#sql.unsafe('begin')
      this.#isOpen = true
    }
    const values = parameters.map((value) => this.#ids.toStore(value))
    try {
      const rows = await sendStatement(this.#sql, text, values)
      return { kind: 'rows', rows: this.#ids.rowsFrom(text, rows), count: rows.count }
    } catch (error) {
      return errorResultOf(error)
    }
  }
}
