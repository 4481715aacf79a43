// Runs a random history: functions of the product in several sessions, whose statements interleave, on
// the in-memory store and on PostgreSQL. Both stores must give the same result for every statement.
import type { Random } from '../../simulate/random.ts'
import type { Database } from '../store/rows.ts'
import type { Schema } from '../store/schema.ts'
import { fillStore, PostgresSessions } from './postgres-sessions.ts'
import {
  comparable,
  comparableDatabase,
  comparableTable,
  comparedTables,
  drawFixture,
} from './fixture.ts'
import { DONE, MemorySessions, type StatementResult } from './memory-sessions.ts'
import { drawProgram } from './functions.ts'
import { type TwinRequest, type TwinResult, TwinRuns } from './twin-runs.ts'

const SESSION_IDS = [0, 1, 2]
const STEPS = 40

/** The two stores differ. The message is the history up to the difference. */
class HistoryError extends Error {
  override name = 'HistoryError'
}

/** Counts what happened in histories, so that a test can check that they cover waits and errors. */
export interface HistoryCounts {
  statements: number
  waits: number
  deadlocks: number
  errors: number
}

/** @throws HistoryError */
export async function runHistory(
  schema: Schema,
  url: string,
  random: Random,
  counts: HistoryCounts,
): Promise<void> {
  const fixture = drawFixture(schema, random)
  const history = new History(schema, fixture, url, counts)
  try {
    await history.run(random)
  } catch (error) {
    throw new HistoryError(`${history.text}\n${String(error)}`, { cause: error })
  } finally {
    await history.close()
  }
}

class History {
  readonly #fixture: Database
  readonly #memory: MemorySessions
  readonly #postgres: PostgresSessions
  readonly #counts: HistoryCounts
  readonly #lines: string[] = []
  /** The program of each session. */
  readonly #programs: (TwinRuns | undefined)[] = SESSION_IDS.map(() => undefined)
  /** The sessions that wait for a lock, longest wait first. */
  #waitingSessions: number[] = []
  #serial = 0

  constructor(schema: Schema, fixture: Database, url: string, counts: HistoryCounts) {
    this.#fixture = fixture
    this.#memory = new MemorySessions(schema, fixture, SESSION_IDS.length)
    this.#postgres = new PostgresSessions(url)
    this.#counts = counts
  }

  get text(): string {
    return this.#lines.join('\n')
  }

  async close(): Promise<void> {
    for (const program of this.#programs) program?.abandon()
    await this.#postgres.close()
  }

  async run(random: Random): Promise<void> {
    await fillStore(this.#postgres.sql, this.#fixture)
    await this.#postgres.open(SESSION_IDS.length)
    for (let step = 0; step < STEPS; step += 1) await this.#step(random)
    for (let next = this.#unfinished(); next !== undefined; next = this.#unfinished()) {
      await this.#continue(next)
    }
    await this.#compareTables()
  }

  /** A session whose program can go on. */
  #unfinished(): number | undefined {
    return SESSION_IDS.find(
      (sessionId) => this.#programs[sessionId] !== undefined && !this.#memory.isWaiting(sessionId),
    )
  }

  async #step(random: Random): Promise<void> {
    const free = SESSION_IDS.filter((sessionId) => !this.#memory.isWaiting(sessionId))
    // A session that waits can only lose its connection.
    if (random.percent(3)) return await this.#lose(random.pick(SESSION_IDS))
    if (free.length === 0) return await this.#lose(this.#waitingSessions[0] ?? 0)
    const sessionId = random.pick(free)
    if (this.#programs[sessionId] === undefined) await this.#begin(sessionId, random)
    await this.#continue(sessionId)
  }

  async #begin(sessionId: number, random: Random): Promise<void> {
    this.#serial += 1
    const { names, run } = drawProgram(random)
    this.#lines.push(`${sessionId}: calls ${names.join(', ')}`)
    const program = new TwinRuns(run, this.#serial)
    this.#programs[sessionId] = program
    await program.begin()
  }

  /** Executes the next request of the program. */
  async #continue(sessionId: number): Promise<void> {
    const pending = this.#programs[sessionId]?.pending
    if (pending === undefined) {
      this.#programs[sessionId] = undefined
      return
    }
    const { memory, postgres } = pending
    if (memory.kind === 'call' || postgres.kind === 'call') throw new Error('a provider is called')
    if (memory.kind === 'statement') await this.#execute(sessionId, pending)
    else await this.#end(sessionId, memory.kind)
  }

  async #end(sessionId: number, way: 'commit' | 'rollback'): Promise<void> {
    this.#lines.push(`${sessionId}: ${way}`)
    const expected = this.#memory.end(sessionId, way)
    const ended = await this.#postgres.command(sessionId, way)
    await this.#take(sessionId, this.#compare(sessionId, expected, ended))
    await this.#wake()
  }

  async #lose(sessionId: number): Promise<void> {
    this.#lines.push(`${sessionId}: loses its connection`)
    this.#waitingSessions = this.#waitingSessions.filter((other) => other !== sessionId)
    this.#memory.lose(sessionId)
    await this.#postgres.lose(sessionId)
    this.#programs[sessionId]?.abandon()
    this.#programs[sessionId] = undefined
    await this.#wake()
  }

  async #execute(sessionId: number, { memory, postgres }: TwinRequest): Promise<void> {
    if (memory.kind !== 'statement' || postgres.kind !== 'statement') return
    if (!this.#memory.isOpen(sessionId)) {
      this.#memory.begin(sessionId)
      await this.#postgres.command(sessionId, 'begin')
    }
    this.#counts.statements += 1
    this.#lines.push(`${sessionId}: ${memory.text} ${JSON.stringify(memory.parameters)}`)
    const expected = this.#memory.execute(sessionId, memory)
    this.#postgres.send(sessionId, postgres)
    if (expected === undefined) {
      this.#counts.waits += 1
      this.#waitingSessions.push(sessionId)
      if (this.#memory.isDeadlocked(sessionId)) return await this.#breakDeadlock()
      this.#compare(sessionId, expected, await this.#postgres.outcome(sessionId))
      return
    }
    if (expected.kind === 'error') this.#counts.errors += 1
    const result = this.#compare(sessionId, expected, await this.#postgres.outcome(sessionId))
    await this.#take(sessionId, result)
    await this.#wake()
  }

  /** The program receives the result. */
  async #take(sessionId: number, result: TwinResult): Promise<void> {
    await this.#programs[sessionId]?.answer(result)
  }

  /** PostgreSQL chooses the victim of a deadlock; the in-memory store follows its choice. */
  async #breakDeadlock(): Promise<void> {
    this.#counts.deadlocks += 1
    const ring = this.#waitingSessions.filter((sessionId) => this.#memory.isDeadlocked(sessionId))
    const victim = await this.#postgres.victim(ring)
    this.#waitingSessions = this.#waitingSessions.filter((sessionId) => sessionId !== victim)
    const failed = this.#memory.breakDeadlock(victim)
    await this.#take(victim, this.#compare(victim, failed, await this.#postgres.end(victim)))
    await this.#wake()
  }

  /** Resumes the sessions that can continue, and checks that the others still wait. */
  async #wake(): Promise<void> {
    for (;;) {
      const free = this.#waitingSessions.filter((sessionId) => this.#memory.canResume(sessionId))
      if (free.length === 0) break
      for (const sessionId of await this.#orderOf(free)) {
        this.#waitingSessions = this.#waitingSessions.filter((other) => other !== sessionId)
        const expected = this.#memory.resume(sessionId)
        const result = this.#compare(sessionId, expected, await this.#postgres.end(sessionId))
        await this.#take(sessionId, result)
      }
    }
    for (const sessionId of this.#waitingSessions) {
      this.#memory.resume(sessionId)
      if (this.#memory.isDeadlocked(sessionId)) return await this.#breakDeadlock()
      this.#compare(sessionId, undefined, await this.#postgres.outcome(sessionId))
    }
  }

  /**
   * The order in which sessions have continued. Of several that waited for one lock, PostgreSQL
   * chooses the first, and the order in which results arrive does not tell its choice: the
   * in-memory store follows any order that explains all results.
   */
  async #orderOf(free: readonly number[]): Promise<readonly number[]> {
    const first = await this.#postgres.first(free)
    if (free.length === 1) return [first]
    const results = new Map<number, string>()
    for (const sessionId of free) {
      results.set(sessionId, comparable(await this.#postgres.outcome(sessionId)))
    }
    const others = free.filter((sessionId) => sessionId !== first)
    const orders = [
      [first, ...others],
      [...others, first],
    ]
    const explaining = orders.find((order) => {
      const memory = this.#memory.copy()
      return order.every(
        (sessionId) => comparable(memory.resume(sessionId)) === results.get(sessionId),
      )
    })
    const waits = comparable(undefined)
    return (explaining ?? [first]).filter((sessionId) => results.get(sessionId) !== waits)
  }

  #compare(
    sessionId: number,
    memory: StatementResult | undefined,
    postgres: StatementResult | undefined,
  ): TwinResult {
    const [inMemory, onPostgres] = [comparable(memory), comparable(postgres)]
    this.#lines.push(`   ${sessionId} ${inMemory}`)
    if (inMemory !== onPostgres) throw new Error(`PostgreSQL says: ${onPostgres}`)
    return { memory: memory ?? DONE, postgres: postgres ?? DONE }
  }

  async #compareTables(): Promise<void> {
    const own = comparableDatabase(this.#memory.database)
    for (const table of comparedTables) {
      const rows = await this.#postgres.sql.unsafe(`select * from ${table}`)
      const real = comparableTable(table, rows as never)
      if (JSON.stringify(real) !== JSON.stringify(own[table])) {
        throw new Error(`${table} has ${real.join()}\nand in memory ${own[table]?.join()}`)
      }
    }
  }
}
