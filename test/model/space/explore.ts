// Goes through every state that can be reached, and checks every move of each: those that lead to what is known, too.
// In the end everything must be able to come to its end: from each state the moves that are made when nothing goes
// wrong any more lead to one in which all is settled.
import { inWords } from '../store/rows.ts'
import type { Product } from '../programs/product.ts'
import { checkPlace, checkStep, isSettled } from './checks.ts'
import { Interner } from './interner.ts'
import type { Move } from './move.ts'
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
  /** Whether to keep where each step of the store was taken first. */
  readonly collects?: boolean
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
  readonly #checkedSteps = new Map<number, readonly string[]>()
  readonly #checkedPlaces = new Map<number, readonly string[]>()
  readonly #violations = new Map<string, Violation>()
  #moves = 0
  #collects = false
  /** Where each step from one state of the store to another was taken first. */
  readonly steps = new Map<number, { readonly from: number; readonly label: string }>()

  constructor(product: Product, space: Space) {
    this.world = new World(product, space)
    this.#space = space
    this.#product = product
    this.#table = new StateTable(widthOf(space))
    this.#row = new Int32Array(widthOf(space))
  }

  async run({ signal, tell, goesOn = () => false, collects = false }: Watching): Promise<Explored> {
    this.#collects = collects
    const startedAt = performance.now()
    this.#add(this.world.begin(), -1, () => '')
    for (let index = 0; index < this.#table.count; index += 1) {
      if (signal?.aborted === true) break
      if (index % TELL_EACH === 0) tell?.(this.#table.count, index)
      await this.#expand(index)
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

  async #expand(index: number): Promise<void> {
    const state = decode(this.#table.row(index))
    const moves = await this.world.moves(state)
    let drain = this.#isSettled(state) ? SETTLED : STUCK
    let best = Number.POSITIVE_INFINITY
    for (const move of moves) {
      this.#moves += 1
      const next = this.#add(move.state, index, move.describe)
      this.#check(index, state, move)
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
    if (this.#collects && before.database !== state.database) {
      const name = this.stepName(before.database, state.database)
      if (!this.steps.has(name)) this.steps.set(name, { from: index, label: describe() })
    }
    const found = [...broken, ...this.#checkStep(before, state), ...this.#checkPlace(state)]
    for (const what of found) this.#break(what, () => [...this.#pathTo(index), describe()])
  }

  #break(what: string, path: () => readonly string[]): void {
    if (!this.#violations.has(what)) this.#violations.set(what, { what, path: path() })
  }

  stepName(before: number, after: number): number {
    return before * NUMBERS + after
  }

  /** The moves from the beginning to a state, and one more from there. */
  async movesTo(index: number, label: string): Promise<Move[]> {
    const indices: number[] = []
    for (let at = index; at >= 0; at = this.#table.parents.get(at)) indices.unshift(at)
    const moves: Move[] = []
    for (const [place, at] of indices.entries()) {
      const next = indices[place + 1]
      const wanted = next === undefined ? label : this.#labels.valueOf(this.#table.moves.get(next))
      const found = (await this.world.moves(decode(this.#table.row(at)))).find(
        (move) =>
          move.describe() === wanted && (next === undefined || this.#isState(next, move.state)),
      )
      if (found === undefined) throw new Error(`nothing leads on by ${wanted}`)
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
    const name = this.stepName(before.database, after.database)
    const known = this.#checkedSteps.get(name)
    if (known !== undefined) return known
    const broken = checkStep(this.#product, this.world.database(before), this.world.database(after))
    this.#checkedSteps.set(name, broken)
    return broken
  }

  #checkPlace(state: State): readonly string[] {
    const name = state.database * NUMBERS + state.provider
    const known = this.#checkedPlaces.get(name)
    if (known !== undefined) return known
    const provider = this.world.stepper.providers.valueOf(state.provider)
    const broken = checkPlace(this.#product, this.world.database(state), provider)
    this.#checkedPlaces.set(name, broken)
    return broken
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
/** More than any interner has. */
const NUMBERS = 2 ** 26
const UNDER_WAY = 1
const ENDS = 2
const NEVER_ENDS = 3
