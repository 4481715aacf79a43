// Runs a program of the product on PostgreSQL, one request at a time under the control of the
// replay.
import { randomUUIDv7 } from 'node:crypto'
import type { Sql } from '../../../src/db/connection/client.ts'
import type { Answer, Request, StatementRequest } from '../programs/requests.ts'
import { Run, type Environment } from '../programs/run.ts'
import { GENERATED_ID_PREFIX, mapTexts } from '../programs/symbols.ts'
import { parseStatement } from '../sql/parse-statement.ts'
import { sendStatement } from '../store/postgres-store.ts'
import { toText, type Row, type Value } from '../store/rows.ts'
import { constraintOf } from '../store/store-errors.ts'
import type { Connections } from './connections.ts'

const SYMBOL = new RegExp(`${GENERATED_ID_PREFIX}\\d{12}`, 'g')

export class LiveProgram {
  readonly #run: Run
  readonly #connections: Connections
  readonly #sql: Sql
  readonly #ids = new Map<string, string>()
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
    for (const [index, id] of ids.entries()) {
      this.#ids.set(`${GENERATED_ID_PREFIX}${String(index + 1).padStart(12, '0')}`, id)
    }
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
    if (this.#isOpen) await this.#sql.unsafe(kind)
    this.#isOpen = false
    return { kind: 'done' }
  }

  async #execute({ transaction, text, parameters }: StatementRequest): Promise<Answer> {
    if (transaction !== null && !this.#isOpen) {
      await this.#sql.unsafe('begin')
      this.#isOpen = true
    }
    const values = parameters.map((value) => this.#toPostgres(value))
    try {
      const rows = await sendStatement(this.#sql, text, values)
      const modelRows = rows.map((row) => this.#toModelRow(row))
      return { kind: 'rows', rows: inOrderOfModel(text, modelRows), count: rows.count }
    } catch (error) {
      if (!(error instanceof Error) || !('code' in error)) throw error
      const { code, message } = error
      return { kind: 'error', code: String(code), message, constraint: constraintOf(error) }
    }
  }

  /** A symbol stands for an id that this program generated. */
  #toPostgres(value: Value): Value {
    return mapTexts(value, (text) => text.replaceAll(SYMBOL, (symbol) => this.#idOf(symbol)))
  }

  #idOf(symbol: string): string {
    const known = this.#ids.get(symbol)
    if (known !== undefined) return known
    const id = randomUUIDv7()
    this.#ids.set(symbol, id)
    return id
  }

  #toModelRow(row: object): Row {
    const entries = Object.entries(row).map(([name, value]) => [name, this.#toModel(value)])
    return Object.fromEntries(entries) as Row
  }

  #toModel(value: unknown): Value {
    if (value instanceof Uint8Array) return `\\x${Buffer.from(value).toString('hex')}`
    return mapTexts(value as Value, (text) =>
      [...this.#ids].reduce((renamed, [symbol, id]) => renamed.replaceAll(id, symbol), text),
    )
  }
}

/**
 * Without `order by`, PostgreSQL returns rows in an order that depends on its plan, and the model
 * in the order of their ids.
 */
function inOrderOfModel(text: string, rows: readonly Row[]): readonly Row[] {
  if (rows.length < 2) return rows
  const { body } = parseStatement(text)
  if (body.kind === 'select' && body.orderBy.length > 0) return rows
  return rows.toSorted((one, other) => toText(one['id']).localeCompare(toText(other['id'])))
}
