// Runs one program twice: against the in-memory store and against PostgreSQL. Both runs must send the
// same statements.
import type { Answer, Request } from '../programs/requests.ts'
import { Run, type Environment } from '../programs/run.ts'
import type { StatementResult } from './memory-sessions.ts'
import { RowIds } from './row-ids.ts'

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
