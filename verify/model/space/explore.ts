// Goes through every state that can be reached, and checks every move of each: those that lead to what is known, too.
// In the end everything must be able to come to its end: from each state the moves that are made when nothing goes
// wrong any more lead to one in which all is settled.
import { inWords } from '../store/rows.ts'
import type { Product } from '../programs/product.ts'
import { checkPlace, checkStep, isSettled } from './checks.ts'
import { Interner } from './interner.ts'
import type { Move } from './move.ts'
import { Pairs } from './pairs.ts'
import type { Space } from './space.ts'
import { decode, encode, placesOf, widthOf, type State } from './state.ts'
import { StateTable } from './state-table.ts'
import { livesOf, rowOfKey } from './starts.ts'
import { World } from './world.ts'

/** A rule that is broken, and the way there from the beginning. */
export interface Violation {
  readonly what: string
  readonly path: readonly string[]
}

export interface Explored {
  readonly space: string
  readonly states: number
  readonly moves: number
  /** Moves from the beginning to the state that is the farthest from it. */
  readonly depth: number
  readonly stores: number
  readonly providers: number
  /** Different moments at which a program was found. */
  readonly moments: number
  /** Statements that were executed once more beside the rows of other keys. */
  readonly beside: number
  readonly violations: readonly Violation[]
  readonly seconds: number
}

export interface Watching {
  readonly signal?: AbortSignal
  /** Is told now and then how many states are known, and how many of them are done. */
  readonly tell?: (known: number, done: number) => void
  /** Whether to go on when a rule is broken; else this ends with the first that is. */
  readonly goesOn?: (what: string) => boolean
  /** Which moves to keep, besides the states that they lead to. */
  readonly collects?: (move: Move) => boolean
}

const TELL_EACH = 20_000
/** More than these are of no use to anybody. */
const VIOLATIONS_MAX = 10
const SETTLED = -1
const STUCK = -2

export async function explore(
  product: Product,
  space: Space,
  watching: Watching = {},
): Promise<Explored> {
  const exploration = new Exploration(product, space)
  try {
    return await exploration.run(watching)
  } finally {
    await exploration.world.dispose()
  }
}

export class Exploration {
  readonly world: World
  readonly #space: Space
  readonly #product: Product
  readonly #table: StateTable
  readonly #labels = new Interner<string>()
  readonly #row: Int32Array
  readonly #checkedSteps = new Pairs<readonly string[]>()
  readonly #checkedPlaces = new Pairs<readonly string[]>()
  readonly #violations = new Map<string, Violation>()
  #moves = 0
  /** From where and to where the moves lead that were collected. */
  readonly #from: number[] = []
  readonly #to: number[] = []

  constructor(product: Product, space: Space) {
    this.world = new World(product, space)
    this.#space = space
    this.#product = product
    this.#table = new StateTable(widthOf(space))
    this.#row = new Int32Array(widthOf(space))
  }

  async run({ signal, tell, goesOn = () => false, collects }: Watching): Promise<Explored> {
    const startedAt = performance.now()
    this.#add(this.world.begin(), -1, () => '')
    for (let index = 0; index < this.#table.count; index += 1) {
      if (signal?.aborted === true) break
      if (index % TELL_EACH === 0) tell?.(this.#table.count, index)
      await this.#expand(index, collects)
      const isEnough = this.#violations.size >= VIOLATIONS_MAX
      if (isEnough || [...this.#violations.keys()].some((what) => !goesOn(what))) break
    }
    const isWhole = this.#violations.size === 0 && signal?.aborted !== true
    if (isWhole) this.#checkDrains()
    const { databases, providers } = this.world.stepper
    return {
      space: this.#space.name,
      states: this.#table.count,
      moves: this.#moves,
      depth: this.#depth(),
      stores: databases.size,
      providers: providers.size,
      moments: this.world.moments,
      beside: this.world.stepper.frames.checked,
      violations: [...this.#violations.values()],
      seconds: (performance.now() - startedAt) / 1_000,
    }
  }

  async #expand(index: number, collects: Watching['collects']): Promise<void> {
    const state = decode(this.#table.row(index))
    const moves = await this.world.moves(state)
    let drain = this.#isSettled(state) ? SETTLED : STUCK
    let best = Number.POSITIVE_INFINITY
    for (const move of moves) {
      this.#moves += 1
      const next = this.#add(move.state, index, move.describe)
      this.#check(index, state, move)
      if (collects?.(move) === true) {
        this.#from.push(index)
        this.#to.push(next)
      }
      if (drain === SETTLED || move.rank >= best || next === index) continue
      best = move.rank
      drain = next
    }
    this.#table.drains.set(index, drain)
  }

  #add(state: State, parent: number, describe: () => string): number {
    if (state.instances.length > placesOf(this.#space)) throw new Error('too many programs run')
    encode(state, this.#row)
    const index = this.#table.add(this.#row)
    if (index < 0) return -index - 1
    this.#table.parents.set(index, parent)
    this.#table.moves.set(index, this.#labels.idOf(describe()))
    return index
  }

  #check(index: number, before: State, { describe, state, broken }: Move): void {
    for (const found of [broken, this.#checkStep(before, state), this.#checkPlace(state)]) {
      for (const what of found) this.#break(what, () => [...this.#pathTo(index), describe()])
    }
  }

  #break(what: string, path: () => readonly string[]): void {
    if (!this.#violations.has(what)) this.#violations.set(what, { what, path: path() })
  }

  /** The moves that were collected, and the states that they lead to. */
  get graph() {
    const storeOf = (state: number) => this.#table.row(state)[0] as number
    return { count: this.#table.count, from: this.#from, to: this.#to, storeOf }
  }

  /** From each of these states a move to the next one. */
  async movesAlong(states: readonly number[], isWanted: (move: Move) => boolean): Promise<Move[]> {
    const moves: Move[] = []
    for (const [place, next] of states.slice(1).entries()) {
      const before = decode(this.#table.row(states[place] as number))
      const found = (await this.world.moves(before)).find(
        (move) => this.#isState(next, move.state) && isWanted(move),
      )
      if (found === undefined) throw new Error(`nothing leads from ${states[place]} to ${next}`)
      moves.push(found)
    }
    return moves
  }

  #isState(index: number, state: State): boolean {
    encode(state, this.#row)
    const row = this.#table.row(index)
    return this.#row.every((number, place) => number === row[place])
  }

  #checkStep(before: State, after: State): readonly string[] {
    if (before.database === after.database) return NONE
    const known = this.#checkedSteps.get(before.database, after.database)
    if (known !== undefined) return known
    const broken = checkStep(this.#product, this.world.database(before), this.world.database(after))
    return this.#checkedSteps.set(before.database, after.database, broken)
  }

  #checkPlace(state: State): readonly string[] {
    const known = this.#checkedPlaces.get(state.database, state.provider)
    if (known !== undefined) return known
    const provider = this.world.stepper.providers.valueOf(state.provider)
    const broken = checkPlace(this.#product, this.world.database(state), provider)
    return this.#checkedPlaces.set(state.database, state.provider, broken)
  }

  #isSettled(state: State): boolean {
    if (state.instances.length > 0) return false
    const database = this.world.database(state)
    const told = this.world.tolds.valueOf(state.told)
    for (let key = 0; key < this.#space.keys; key += 1) {
      const isUnused = rowOfKey(database, key) === undefined && livesOf(database, key) === 0
      if (isUnused && told[key] === undefined) return false
    }
    return isSettled(database)
  }

  /** Whatever has happened: when nothing goes wrong any more, all comes to its end. */
  #checkDrains(): void {
    const { drains, count } = { drains: this.#table.drains, count: this.#table.count }
    const ends = new Int8Array(count)
    for (let index = 0; index < count; index += 1) {
      const path: number[] = []
      let at = index
      while (at >= 0 && ends[at] === 0) {
        ends[at] = UNDER_WAY
        path.push(at)
        at = drains.get(at)
      }
      const isFine = at === SETTLED || (at >= 0 && ends[at] === ENDS)
      for (const passed of path) ends[passed] = isFine ? ENDS : NEVER_ENDS
      if (isFine) continue
      const what = at === STUCK ? '7: nobody goes on' : '7: it goes round for ever'
      this.#break(what, () => [...this.#pathTo(index), ...this.#drainFrom(index)])
    }
  }

  #drainFrom(index: number): string[] {
    const seen = new Set<number>()
    const shown: string[] = []
    for (let at = index; at >= 0 && !seen.has(at); at = this.#table.drains.get(at)) {
      seen.add(at)
      shown.push(`... ${this.#describe(at)}`)
    }
    return shown
  }

  #describe(index: number): string {
    const state = decode(this.#table.row(index))
    const keys = this.world.database(state)['idempotency_keys'] ?? []
    const shown = keys.map(
      ({ key, status, recovery_point }) =>
        `${inWords(key)} ${inWords(status)} ${inWords(recovery_point)}`,
    )
    const kinds = state.instances.map((id) => this.world.instances.valueOf(id).kind)
    return `${shown.join(', ')} [${kinds.join(' ')}]`
  }

  #pathTo(index: number): string[] {
    const path: string[] = []
    for (let at = index; at > 0; at = this.#table.parents.get(at)) {
      path.unshift(this.#labels.valueOf(this.#table.moves.get(at)))
    }
    return path
  }

  #depth(): number {
    return this.#pathTo(this.#table.count - 1).length
  }
}

const NONE: readonly string[] = []
const UNDER_WAY = 1
const ENDS = 2
const NEVER_ENDS = 3
