// Chooses paths that together take every step from one state of the store to another that a space has: each time the one
// that takes the most of those that are left.
import { pairKey } from '../space/pair-map.ts'

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
  readonly #isUncovered: Uint8Array
  #uncovered: number

  constructor(graph: Graph) {
    this.#graph = graph
    const known = new Map<number, number>()
    const { from, to, storeOf } = graph
    this.#stepOf = Int32Array.from(from, (state, move) => {
      const [before, after] = [storeOf(state), storeOf(to[move] as number)]
      if (before === after) return NO_STEP
      const name = pairKey(before, after)
      const step = known.get(name) ?? known.size
      known.set(name, step)
      return step
    })
    this.steps = known.size
    this.#isUncovered = new Uint8Array(known.size).fill(1)
    this.#uncovered = known.size
  }

  /** How many steps the paths that were chosen take. */
  get covered(): number {
    return this.steps - this.#uncovered
  }

  /** The states of the next path, from the beginning; undefined when nothing is left. */
  next(): readonly number[] | undefined {
    if (this.#uncovered === 0) return undefined
    const path = this.#findBestPath()
    for (const move of path) this.#markCovered(this.#stepOf[move] as number)
    return [0, ...path.map((move) => this.#graph.to[move] as number)]
  }

  #markCovered(step: number): void {
    if (step === NO_STEP || this.#isUncovered[step] === 0) return
    this.#isUncovered[step] = 0
    this.#uncovered -= 1
  }

  /**
   * The moves of a path. All but its last lead to a state with a higher number, so that none is met twice; every state
   * can be reached so, because it was numbered when it was.
   */
  #findBestPath(): number[] {
    const { count, from, to } = this.#graph
    const newSteps = new Int32Array(count).fill(NOWHERE)
    const moveTo = new Int32Array(count).fill(NOWHERE)
    newSteps[0] = 0
    let [lastMove, mostNewSteps] = [NOWHERE, 0]
    for (let move = 0; move < from.length; move += 1) {
      const [before, after] = [from[move] as number, to[move] as number]
      const newStepsBefore = newSteps[before] as number
      if (newStepsBefore === NOWHERE) continue
      const step = this.#stepOf[move] as number
      const newStepsAfter =
        newStepsBefore + (step === NO_STEP ? 0 : (this.#isUncovered[step] as number))
      if (newStepsAfter > mostNewSteps) [lastMove, mostNewSteps] = [move, newStepsAfter]
      if (after <= before || newStepsAfter <= (newSteps[after] as number)) continue
      newSteps[after] = newStepsAfter
      moveTo[after] = move
    }
    const path: number[] = []
    for (let move = lastMove; move !== NOWHERE; move = moveTo[from[move] as number] as number) {
      path.unshift(move)
    }
    return path
  }
}
