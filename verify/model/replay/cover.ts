// Chooses paths that together take every step from one state of the store to another that a space has: each time the one
// that takes the most of those that are left.
import { both } from '../space/pairs.ts'

/** States by their numbers, the beginning being 0, and the moves from one to another, ordered by where they begin. */
export interface Graph {
  readonly count: number
  readonly from: readonly number[]
  readonly to: readonly number[]
  /** The store of a state. */
  readonly storeOf: (state: number) => number
}

const NO_STEP = -1
const NOWHERE = -1

export class Cover {
  /** How many steps the space has. */
  readonly steps: number
  readonly #graph: Graph
  /** Of each move, the step that it takes. */
  readonly #stepOf: Int32Array
  /** Of each step, whether no path has taken it yet. */
  readonly #isLeft: Uint8Array
  #left: number

  constructor(graph: Graph) {
    this.#graph = graph
    const known = new Map<number, number>()
    const { from, to, storeOf } = graph
    this.#stepOf = Int32Array.from(from, (state, move) => {
      const [before, after] = [storeOf(state), storeOf(to[move] as number)]
      if (before === after) return NO_STEP
      const name = both(before, after)
      const step = known.get(name) ?? known.size
      known.set(name, step)
      return step
    })
    this.steps = known.size
    this.#isLeft = new Uint8Array(known.size).fill(1)
    this.#left = known.size
  }

  /** How many steps the paths that were chosen take. */
  get covered(): number {
    return this.steps - this.#left
  }

  /** The states of the next path, from the beginning; undefined when nothing is left. */
  next(): readonly number[] | undefined {
    if (this.#left === 0) return undefined
    const path = this.#findBest()
    for (const move of path) this.#take(this.#stepOf[move] as number)
    return [0, ...path.map((move) => this.#graph.to[move] as number)]
  }

  #take(step: number): void {
    if (step === NO_STEP || this.#isLeft[step] === 0) return
    this.#isLeft[step] = 0
    this.#left -= 1
  }

  /**
   * The moves of a path. All but its last lead to a state with a higher number, so that none is met twice; every state
   * can be reached so, because it was numbered when it was.
   */
  #findBest(): number[] {
    const { count, from, to } = this.#graph
    const taken = new Int32Array(count).fill(NOWHERE)
    const moveTo = new Int32Array(count).fill(NOWHERE)
    taken[0] = 0
    let [last, most] = [NOWHERE, 0]
    for (let move = 0; move < from.length; move += 1) {
      const [before, after] = [from[move] as number, to[move] as number]
      const soFar = taken[before] as number
      if (soFar === NOWHERE) continue
      const step = this.#stepOf[move] as number
      const withIt = soFar + (step === NO_STEP ? 0 : (this.#isLeft[step] as number))
      if (withIt > most) [last, most] = [move, withIt]
      if (after <= before || withIt <= (taken[after] as number)) continue
      taken[after] = withIt
      moveTo[after] = move
    }
    const path: number[] = []
    for (let move = last; move !== NOWHERE; move = moveTo[from[move] as number] as number) {
      path.unshift(move)
    }
    return path
  }
}
