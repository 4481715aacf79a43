// A history: several sessions, whose transactions and statements are drawn by chance and come in between each other, on
// the store in memory and on PostgreSQL at once. Both must say the same after each of its steps.
import type { Random } from '../../simulate/random.ts'
import type { Database } from '../store/database.ts'
import { fillStore } from '../store/on-postgres.ts'
import type { Schema } from '../store/schema.ts'
import { drawFixture } from './fixture.ts'
import { MemorySessions, type Told } from './memory-sessions.ts'
import { PostgresSessions } from './postgres-sessions.ts'
import { comparable, comparableDatabase, comparableTable, comparedTables } from './same.ts'
import { drawStatement } from './statements.ts'

const SESSIONS = 3
const STEPS = 24

/** The two stores do not say the same; the message is the history until then. */
export class HistoryError extends Error {
  override name = 'HistoryError'
}

/** What a history came upon, so that it can be told whether histories come upon everything. */
export interface Seen {
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
  seen: Seen,
): Promise<void> {
  const fixture = drawFixture(schema, random)
  const history = new History(schema, fixture, url, seen)
  try {
    await history.run(random)
  } catch (error) {
    throw new HistoryError(`${history.told}\n${String(error)}`, { cause: error })
  } finally {
    await history.close()
  }
}

class History {
  readonly #fixture: Database
  readonly #memory: MemorySessions
  readonly #postgres: PostgresSessions
  readonly #seen: Seen
  readonly #lines: string[] = []
  /** Those that wait, the one that has waited longest first. */
  #waiting: number[] = []
  #count = 0

  constructor(schema: Schema, fixture: Database, url: string, seen: Seen) {
    this.#fixture = fixture
    this.#memory = new MemorySessions(schema, fixture, SESSIONS)
    this.#postgres = new PostgresSessions(url)
    this.#seen = seen
  }

  get told(): string {
    return this.#lines.join('\n')
  }

  async close(): Promise<void> {
    await this.#postgres.close()
  }

  async run(random: Random): Promise<void> {
    await fillStore(this.#postgres.sql, this.#fixture)
    await this.#postgres.open(SESSIONS)
    for (let step = 0; step < STEPS; step += 1) await this.#step(random)
    for (let place = 0; this.#isBusy(); place = (place + 1) % SESSIONS) {
      if (!this.#memory.isWaiting(place) && this.#memory.isOpen(place)) {
        await this.#end(place, 'commit')
      }
    }
    await this.#compareTables()
  }

  #isBusy(): boolean {
    return Array.from({ length: SESSIONS }, (_, place) => place).some(
      (place) => this.#memory.isWaiting(place) || this.#memory.isOpen(place),
    )
  }

  async #step(random: Random): Promise<void> {
    const places = Array.from({ length: SESSIONS }, (_, place) => place)
    const free = places.filter((place) => !this.#memory.isWaiting(place))
    // One that waits can do nothing but lose its connection.
    if (random.percent(3)) return await this.#lose(random.pick(places))
    if (free.length === 0) return await this.#lose(this.#waiting[0] ?? 0)
    const place = random.pick(free)
    if (!this.#memory.isOpen(place)) {
      if (random.percent(60)) return await this.#begin(place)
    } else if (random.percent(25)) {
      return await this.#end(place, random.percent(70) ? 'commit' : 'rollback')
    }
    await this.#execute(place, random)
  }

  async #begin(place: number): Promise<void> {
    this.#lines.push(`${place}: begin`)
    this.#memory.begin(place)
    await this.#postgres.command(place, 'begin')
  }

  async #end(place: number, way: 'commit' | 'rollback'): Promise<void> {
    this.#lines.push(`${place}: ${way}`)
    this.#memory.end(place, way)
    await this.#postgres.command(place, way)
    await this.#wake()
  }

  async #lose(place: number): Promise<void> {
    this.#lines.push(`${place}: loses its connection`)
    this.#waiting = this.#waiting.filter((other) => other !== place)
    this.#memory.lose(place)
    await this.#postgres.lose(place)
    await this.#wake()
  }

  async #execute(place: number, random: Random): Promise<void> {
    this.#seen.statements += 1
    this.#count += 1
    const { name, request } = await drawStatement(random, this.#count)
    this.#lines.push(`${place}: ${name} ${JSON.stringify(request.parameters)}`)
    const expected = this.#memory.execute(place, request)
    this.#postgres.send(place, request)
    if (expected === undefined) {
      this.#seen.waits += 1
      this.#waiting.push(place)
      if (this.#memory.isDeadlocked(place)) return await this.#breakDeadlock()
      return this.#compare(place, expected, await this.#postgres.outcome(place))
    }
    if (expected.kind === 'error') this.#seen.errors += 1
    this.#compare(place, expected, await this.#postgres.outcome(place))
    await this.#wake()
  }

  /** Whom PostgreSQL ends is its own choice; that it ends one of them is not. */
  async #breakDeadlock(): Promise<void> {
    this.#seen.deadlocks += 1
    const ring = this.#waiting.filter((place) => this.#memory.isDeadlocked(place))
    const victim = await this.#postgres.victim(ring)
    this.#waiting = this.#waiting.filter((place) => place !== victim)
    this.#compare(victim, this.#memory.breakDeadlock(victim), await this.#postgres.end(victim))
    await this.#wake()
  }

  /** Those that have waited go on, or wait on. */
  async #wake(): Promise<void> {
    for (;;) {
      const free = this.#waiting.filter((place) => this.#memory.canGoOn(place))
      if (free.length === 0) break
      const place = await this.#postgres.first(free)
      this.#waiting = this.#waiting.filter((other) => other !== place)
      this.#compare(place, this.#memory.goOn(place), await this.#postgres.end(place))
    }
    for (const place of this.#waiting) {
      this.#memory.goOn(place)
      if (this.#memory.isDeadlocked(place)) return await this.#breakDeadlock()
      this.#compare(place, undefined, await this.#postgres.outcome(place))
    }
  }

  #compare(place: number, expected: Told | undefined, told: Told | undefined): void {
    const [own, real] = [comparable(expected), comparable(told)]
    this.#lines.push(`   ${place} ${own}`)
    if (own !== real) throw new Error(`PostgreSQL says: ${real}`)
  }

  async #compareTables(): Promise<void> {
    const own = comparableDatabase(this.#memory.database)
    for (const table of comparedTables) {
      const rows = await this.#postgres.sql.unsafe(`select * from ${table}`)
      const real = comparableTable(table, rows as never)
      if (JSON.stringify(real) !== JSON.stringify(own[table])) {
        throw new Error(`${table} holds ${real.join()}\nand in memory ${own[table]?.join()}`)
      }
    }
  }
}
