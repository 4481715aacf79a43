// Defines a state: the store, the provider, refusals that clients received, the remaining fault
// budget, and the running instances, all as interned numbers. Encodes a state as the row of numbers
// that the state table stores.
import type { Budget, Space } from './space.ts'

export class Interner<Value> {
  readonly #ids = new Map<string, number>()
  readonly #values: Value[] = []

  idOf(value: Value): number {
    const text = JSON.stringify(value)
    const known = this.#ids.get(text)
    if (known !== undefined) return known
    this.#ids.set(text, this.#values.length)
    return this.#values.push(value) - 1
  }

  valueOf(id: number): Value {
    if (id < 0 || id >= this.#values.length) throw new Error(`no value has the number ${id}`)
    return this.#values[id] as Value
  }

  get size(): number {
    return this.#values.length
  }
}

/** No Error: it is thrown so often that the stack traces would cost a twentieth of the time. */
export class NotComputedYet {
  readonly compute: () => Promise<void>

  constructor(compute: () => Promise<void>) {
    this.compute = compute
  }
}

/** Runs `work`, again after each missing computation, until nothing is missing. */
export async function computeOnDemand<Found>(work: () => Found): Promise<Found> {
  for (;;) {
    try {
      return work()
    } catch (error) {
      if (!(error instanceof NotComputedYet)) throw error
      await error.compute()
    }
  }
}

/** More numbers than any interner assigns. */
const NUMBER_MAX = 2 ** 26

/** One number for a pair of numbers. */
export const pairKey = (first: number, second: number): number => first * NUMBER_MAX + second

export class PairMap<Value> {
  readonly #values: Map<number, Value>[] = []

  set(first: number, second: number, value: Value): Value {
    const values = (this.#values[first] ??= new Map<number, Value>())
    values.set(second, value)
    return value
  }

  get(first: number, second: number): Value | undefined {
    return this.#values[first]?.get(second)
  }

  /** @throws NotComputedYet when the value must be computed first. */
  find(first: number, second: number, find: () => Promise<Value>): Value {
    const values = this.#values[first]
    const cached = values?.get(second)
    if (cached !== undefined || values?.has(second) === true) return cached as Value
    throw new NotComputedYet(async () => void this.set(first, second, await find()))
  }
}

export interface State {
  readonly database: number
  readonly provider: number
  readonly refusals: number
  readonly budget: Budget
  /** The running instances, sorted: the order of equal instances does not matter. */
  readonly instances: readonly number[]
}

const BUDGET_BASE = 16
const FIXED_COLUMNS = 4

/** Maximum number of concurrent instances. */
export function maxInstances(space: Space): number {
  const { workers, requests, maintenance, cancels, appliers } = space
  return workers + requests + maintenance + (cancels ? 1 : 0) + appliers
}

export const widthOf = (space: Space): number => FIXED_COLUMNS + maxInstances(space)

export function encode(state: State, row: Int32Array): void {
  const { database, provider, refusals, budget, instances } = state
  row[0] = database
  row[1] = provider
  row[2] = refusals
  row[3] = encodeBudget(budget)
  for (let place = FIXED_COLUMNS; place < row.length; place += 1) {
    row[place] = instances[place - FIXED_COLUMNS] ?? -1
  }
}

export function decode(row: Int32Array): State {
  const [database = 0, provider = 0, refusals = 0, budget = 0] = row
  const instances = Array.from(row.subarray(FIXED_COLUMNS)).filter((instance) => instance >= 0)
  return { database, provider, refusals, budget: decodeBudget(budget), instances }
}

function encodeBudget({ crashes, expiries, losses, early }: Budget): number {
  return ((crashes * BUDGET_BASE + expiries) * BUDGET_BASE + losses) * BUDGET_BASE + early
}

function decodeBudget(encoded: number): Budget {
  const digit = (place: number) => Math.floor(encoded / BUDGET_BASE ** place) % BUDGET_BASE
  return { crashes: digit(3), expiries: digit(2), losses: digit(1), early: digit(0) }
}

export const spend = (budget: Budget, what: keyof Budget): Budget => ({
  ...budget,
  [what]: budget[what] - 1,
})

/** Inserts an id into a sorted list. */
export function insertSorted(ids: readonly number[], id: number): number[] {
  const place = ids.findIndex((other) => other > id)
  return ids.toSpliced(place < 0 ? ids.length : place, 0, id)
}

export const sortNumbers = (ids: readonly number[]): number[] =>
  ids.toSorted((one, other) => one - other)

const CHUNK = 1 << 16
const LOAD_MAX = 0.6
/** A slot has two numbers. */
const SLOT = 2

const emptySlots = (count: number): Int32Array => new Int32Array(count * SLOT).fill(-1)

export class StateTable {
  readonly #width: number
  readonly #chunks: Int32Array[] = []
  /**
   * Hash table of row numbers, each with its hash: the hash distinguishes most rows without reading
   * them.
   */
  #slots = emptySlots(1 << 16)
  #count = 0
  /** The state from which a state was reached first, and the label of that transition. */
  readonly parents = new NumberList()
  readonly labels = new NumberList()
  /** The next state of the fault-free run. */
  readonly faultFreeNext = new NumberList()

  constructor(width: number) {
    this.#width = width
  }

  get count(): number {
    return this.#count
  }

  /** Returns the number of a new state, or `-number - 1` for a known state. */
  add(row: Int32Array): number {
    if (this.#count * SLOT > this.#slots.length * LOAD_MAX) this.#grow()
    const slots = this.#slots
    const mask = slots.length - 1
    const hash = hashOf(row)
    let slot = (hash * SLOT) & mask
    for (;;) {
      const stored = slots[slot] as number
      if (stored < 0) break
      if (slots[slot + 1] === hash && this.#isAt(stored, row)) return -stored - 1
      slot = (slot + SLOT) & mask
    }
    slots[slot] = this.#count
    slots[slot + 1] = hash
    this.#store(row)
    this.#count += 1
    return this.#count - 1
  }

  row(index: number): Int32Array {
    const chunk = this.#chunks[Math.floor(index / CHUNK)] as Int32Array
    const from = (index % CHUNK) * this.#width
    return chunk.subarray(from, from + this.#width)
  }

  #isAt(index: number, row: Int32Array): boolean {
    const chunk = this.#chunks[Math.floor(index / CHUNK)] as Int32Array
    const from = (index % CHUNK) * this.#width
    for (let place = 0; place < row.length; place += 1) {
      if (chunk[from + place] !== row[place]) return false
    }
    return true
  }

  #store(row: Int32Array): void {
    const place = Math.floor(this.#count / CHUNK)
    this.#chunks[place] ??= new Int32Array(CHUNK * this.#width)
    this.#chunks[place].set(row, (this.#count % CHUNK) * this.#width)
  }

  #grow(): void {
    const before = this.#slots
    const slots = emptySlots(before.length)
    const mask = slots.length - 1
    for (let from = 0; from < before.length; from += SLOT) {
      if ((before[from] as number) < 0) continue
      const hash = before[from + 1] as number
      let slot = (hash * SLOT) & mask
      while ((slots[slot] as number) >= 0) slot = (slot + SLOT) & mask
      slots[slot] = before[from] as number
      slots[slot + 1] = hash
    }
    this.#slots = slots
  }
}

/** A growing list of numbers. */
class NumberList {
  #numbers = new Int32Array(CHUNK)

  set(index: number, number: number): void {
    while (index >= this.#numbers.length) {
      const longer = new Int32Array(this.#numbers.length * 2)
      longer.set(this.#numbers)
      this.#numbers = longer
    }
    this.#numbers[index] = number
  }

  get(index: number): number {
    return this.#numbers[index] ?? 0
  }
}

function hashOf(row: Int32Array): number {
  let mixed = 0x811c9dc5
  for (let place = 0; place < row.length; place += 1) {
    mixed = Math.imul(mixed ^ (row[place] as number), 0x9e3779b1)
    mixed ^= mixed >>> 15
  }
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0x85ebca6b)
  return mixed ^ (mixed >>> 16)
}

export interface Transition {
  readonly state: State
  /**
   * Priority in the fault-free run: the lowest rank goes first. Infinite for transitions that are
   * not part of it.
   */
  readonly rank: number
  /** Violations by the transition itself. */
  readonly violations: readonly string[]
  readonly describe: () => string
}

/** The order in which the fault-free run completes the remaining work. */
export const RANK = {
  step: 0,
  expiry: 1,
  work: 2,
  sweep: 3,
  check: 4,
  send: 5,
  time: 6,
  // An event that must wait changes nothing, so everything else comes before it.
  apply: 7,
  /** Last: the job of an operation that is gone finds nothing to do, again and again. */
  oldWork: 8,
} as const
export const NEVER = Number.POSITIVE_INFINITY
