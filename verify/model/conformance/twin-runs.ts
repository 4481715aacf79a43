// Runs one program twice: against the in-memory store and against PostgreSQL. Both runs must send the
// same statements.
import { parseStatement } from '../sql/parse-statement.ts'
import { type Row, toText, type Value } from '../store/rows.ts'
import {
  GENERATED_ID_PREFIX,
  mapTexts,
  MODEL_ID_PREFIX,
  NIL_ID,
  symbolOf,
  UUID,
} from '../programs/ids.ts'
import type { Answer, Request } from '../programs/requests.ts'
import { type Environment, Run } from '../programs/run.ts'
import type { StatementResult } from './memory-sessions.ts'

/** The symbols of ids that the store generates begin here; no program generates as many. */
const STORE_IDS_FROM = 900_000_000_000

class RowIds {
  readonly #idOf = new Map<string, string>()
  readonly #symbolOf = new Map<string, string>()
  readonly #prefix: string

  /** @param serial unique within a history, so that no two programs generate the same ids. */
  constructor(serial: number) {
    this.#prefix = GENERATED_ID_PREFIX + String(serial).padStart(9, '0')
  }

  /** A parameter as the store gets it. */
  toStore(value: Value): Value {
    return mapTexts(value, (text) => text.replaceAll(UUID, (id) => this.#id(id)))
  }

  /**
   * The rows of a statement as the program gets them. Without `order by`, PostgreSQL returns them in an
   * order that depends on its plan, and the model in the order of their ids.
   */
  rowsFrom(text: string, rows: readonly object[]): readonly Row[] {
    const own = rows.map((row) => {
      const entries = Object.entries(row).map(([name, value]) => [name, this.#toProgram(value)])
      return Object.fromEntries(entries) as Row
    })
    if (own.length < 2) return own
    const { body } = parseStatement(text)
    if (body.kind === 'select' && body.orderBy.length > 0) return own
    return own.toSorted((one, other) => nameOfRow(one).localeCompare(nameOfRow(other)))
  }

  #toProgram(value: unknown): Value {
    if (value instanceof Uint8Array) return `\\x${Buffer.from(value).toString('hex')}`
    return mapTexts(value as Value, (text) => text.replaceAll(UUID, (id) => this.#symbol(id)))
  }

  #id(symbol: string): string {
    const known = this.#idOf.get(symbol)
    if (known !== undefined || !symbol.startsWith(GENERATED_ID_PREFIX)) return known ?? symbol
    return this.#add(symbol, this.#prefix + symbol.slice(-3))
  }

  /** An id that the store generated gets a symbol, too: the program may send it again. */
  #symbol(id: string): string {
    const known = this.#symbolOf.get(id)
    const isOfModel = [MODEL_ID_PREFIX, GENERATED_ID_PREFIX, NIL_ID].some((prefix) =>
      id.startsWith(prefix),
    )
    if (known !== undefined || isOfModel) return known ?? id
    const symbol = symbolOf(STORE_IDS_FROM + this.#idOf.size)
    this.#add(symbol, id)
    return symbol
  }

  #add(symbol: string, id: string): string {
    this.#idOf.set(symbol, id)
    this.#symbolOf.set(id, symbol)
    return id
  }
}

/** Its id, or what begins with the id of the resource that it is. */
const nameOfRow = (row: Row): string => toText(row['id'] ?? row)

/** The result of a request in each store. */
export interface TwinResult {
  readonly memory: StatementResult
  readonly postgres: StatementResult
}

/** The pending request, with the ids of each store. */
export interface TwinRequest {
  readonly memory: Request
  readonly postgres: Request
}

export class TwinRuns {
  readonly #memory: OneRun
  readonly #postgres: OneRun

  /** @param serial unique within a history, so that no two programs generate the same ids. */
  constructor(program: (environment: Environment) => Promise<unknown>, serial: number) {
    ;[this.#memory, this.#postgres] = [new OneRun(program, serial), new OneRun(program, serial)]
  }

  /** Runs the program until its first request or its end. */
  async begin(): Promise<void> {
    await Promise.all([this.#memory, this.#postgres].map(({ run }) => run.runUntilPending()))
  }

  /**
   * Undefined when the program has ended.
   *
   * @throws Error when the two runs differ.
   */
  get pending(): TwinRequest | undefined {
    const [memory, postgres] = [this.#memory.pending, this.#postgres.pending]
    if (nameOf(memory) !== nameOf(postgres)) {
      throw new Error(`in memory ${nameOf(memory)}\non PostgreSQL ${nameOf(postgres)}`)
    }
    return memory && postgres && { memory, postgres }
  }

  async answer({ memory, postgres }: TwinResult): Promise<void> {
    await Promise.all([this.#memory.answer(memory), this.#postgres.answer(postgres)])
  }

  abandon(): void {
    for (const { run } of [this.#memory, this.#postgres]) run.abandon()
  }
}

class OneRun {
  readonly run: Run
  readonly #ids: RowIds

  constructor(program: (environment: Environment) => Promise<unknown>, serial: number) {
    this.run = new Run(program)
    this.#ids = new RowIds(serial)
  }

  get pending(): Request | undefined {
    const { pending } = this.run
    if (pending?.kind !== 'statement') return pending
    return { ...pending, parameters: pending.parameters.map((value) => this.#ids.toStore(value)) }
  }

  async answer(result: StatementResult): Promise<void> {
    await this.run.answer(this.#answerOf(result))
  }

  #answerOf(result: StatementResult): Answer {
    const { pending } = this.run
    if (result.kind === 'error') {
      const { code, constraint } = result
      return { kind: 'error', code, message: code, constraint }
    }
    if (pending?.kind !== 'statement') return { kind: 'done' }
    return { ...result, rows: this.#ids.rowsFrom(pending.text, result.rows) }
  }
}

const nameOf = (request: Request | undefined): string =>
  request?.kind === 'statement' ? request.text : (request?.kind ?? 'nothing')
