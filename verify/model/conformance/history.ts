// Runs a random history: interleaved transactions and statements of several sessions, on the
// in-memory store and on PostgreSQL. Both stores must give the same result for every step.
import type { Random } from '../../simulate/random.ts'
import type { Database } from '../store/database.ts'
import { fillStore } from '../store/postgres-store.ts'
import type { Schema } from '../store/schema.ts'
import { drawFixture } from './fixture.ts'
import { MemorySessions, type StatementResult } from './memory-sessions.ts'
import { PostgresSessions } from './postgres-sessions.ts'
import { comparable, comparableDatabase, comparableTable, comparedTables } from './comparable.ts'
import { drawStatement } from './statements.ts'

const SESSIONS = 3
const STEPS = 24

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
  /** The sessions that wait for a lock, longest wait first. */
  #waitingSessions: number[] = []
  #count = 0

  constructor(schema: Schema, fixture: Database, url: string, counts: HistoryCounts) {
    this.#fixture = fixture
    this.#memory = new MemorySessions(schema, fixture, SESSIONS)
    this.#postgres = new PostgresSessions(url)
    this.#counts = counts
  }

  get text(): string {
    return this.#lines.join('\n')
  }

  async close(): Promise<void> {
    await this.#postgres.close()
  }

  async run(random: Random): Promise<void> {
    await fillStore(this.#postgres.sql, this.#fixture)
    await this.#postgres.open(SESSIONS)
    for (let step = 0; step < STEPS; step += 1) await this.#step(random)
    for (let sessionId = 0; this.#isBusy(); sessionId = (sessionId + 1) % SESSIONS) {
      if (!this.#memory.isWaiting(sessionId) && this.#memory.isOpen(sessionId)) {
        await this.#end(sessionId, 'commit')
      }
    }
    await this.#compareTables()
  }

  #isBusy(): boolean {
    return Array.from({ length: SESSIONS }, (_, sessionId) => sessionId).some(
      (sessionId) => this.#memory.isWaiting(sessionId) || this.#memory.isOpen(sessionId),
    )
  }

  async #step(random: Random): Promise<void> {
    const sessionIds = Array.from({ length: SESSIONS }, (_, sessionId) => sessionId)
    const free = sessionIds.filter((sessionId) => !this.#memory.isWaiting(sessionId))
    // A session that waits can only lose its connection.
    if (random.percent(3)) return await this.#lose(random.pick(sessionIds))
    if (free.length === 0) return await this.#lose(this.#waitingSessions[0] ?? 0)
    const sessionId = random.pick(free)
    if (!this.#memory.isOpen(sessionId)) {
      if (random.percent(60)) return await this.#begin(sessionId)
    } else if (random.percent(25)) {
      return await this.#end(sessionId, random.percent(70) ? 'commit' : 'rollback')
    }
    await this.#execute(sessionId, random)
  }

  async #begin(sessionId: number): Promise<void> {
    this.#lines.push(`${sessionId}: begin`)
    this.#memory.begin(sessionId)
    await this.#postgres.command(sessionId, 'begin')
  }

  async #end(sessionId: number, way: 'commit' | 'rollback'): Promise<void> {
    this.#lines.push(`${sessionId}: ${way}`)
    this.#memory.end(sessionId, way)
    await this.#postgres.command(sessionId, way)
    await this.#wake()
  }

  async #lose(sessionId: number): Promise<void> {
    this.#lines.push(`${sessionId}: loses its connection`)
    this.#waitingSessions = this.#waitingSessions.filter((other) => other !== sessionId)
    this.#memory.lose(sessionId)
    await this.#postgres.lose(sessionId)
    await this.#wake()
  }

  async #execute(sessionId: number, random: Random): Promise<void> {
    this.#counts.statements += 1
    this.#count += 1
    const { name, request } = await drawStatement(random, this.#count)
    this.#lines.push(`${sessionId}: ${name} ${JSON.stringify(request.parameters)}`)
    const expected = this.#memory.execute(sessionId, request)
    this.#postgres.send(sessionId, request)
    if (expected === undefined) {
      this.#counts.waits += 1
      this.#waitingSessions.push(sessionId)
      if (this.#memory.isDeadlocked(sessionId)) return await this.#breakDeadlock()
      return this.#compare(sessionId, expected, await this.#postgres.outcome(sessionId))
    }
    if (expected.kind === 'error') this.#counts.errors += 1
    this.#compare(sessionId, expected, await this.#postgres.outcome(sessionId))
    await this.#wake()
  }

  /** PostgreSQL chooses the victim of a deadlock; the in-memory store follows its choice. */
  async #breakDeadlock(): Promise<void> {
    this.#counts.deadlocks += 1
    const ring = this.#waitingSessions.filter((sessionId) => this.#memory.isDeadlocked(sessionId))
    const victim = await this.#postgres.victim(ring)
    this.#waitingSessions = this.#waitingSessions.filter((sessionId) => sessionId !== victim)
    this.#compare(victim, this.#memory.breakDeadlock(victim), await this.#postgres.end(victim))
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
        this.#compare(sessionId, expected, await this.#postgres.end(sessionId))
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
    expected: StatementResult | undefined,
    text: StatementResult | undefined,
  ): void {
    const [inMemory, onPostgres] = [comparable(expected), comparable(text)]
    this.#lines.push(`   ${sessionId} ${inMemory}`)
    if (inMemory !== onPostgres) throw new Error(`PostgreSQL says: ${onPostgres}`)
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
