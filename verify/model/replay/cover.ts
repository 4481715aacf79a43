// Chooses paths that together cover every store step of a space. A store step is a pair of stores
// with a transition from one to the other. The algorithm is greedy: each path covers the most steps
// that are still uncovered.
import { pairKey } from '../space/pair-map.ts'

/**
 * The explored graph. States are numbered from 0, the initial state; transitions are ordered by
 * their source state.
 */
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
  /** Number of store steps in the space. */
  readonly steps: number
  readonly #graph: Graph
  /** The store step of each transition. */
  readonly #stepOf: Int32Array
  /** For each store step: 1 if no path covers it yet. */
  readonly #isUncovered: Uint8Array
  #uncovered: number

  constructor(graph: Graph) {
    this.#graph = graph
    const stepNumbers = new Map<number, number>()
    const { from, to, storeOf } = graph
    this.#stepOf = Int32Array.from(from, (state, transition) => {
      const [before, after] = [storeOf(state), storeOf(to[transition] as number)]
      if (before === after) return NO_STEP
      const name = pairKey(before, after)
      const step = stepNumbers.get(name) ?? stepNumbers.size
      stepNumbers.set(name, step)
      return step
    })
    this.steps = stepNumbers.size
    this.#isUncovered = new Uint8Array(stepNumbers.size).fill(1)
    this.#uncovered = stepNumbers.size
  }

  /** Number of store steps that the chosen paths cover. */
  get covered(): number {
    return this.steps - this.#uncovered
  }

  /** The states of the next path, from the initial state; undefined when every step is covered. */
  next(): readonly number[] | undefined {
    if (this.#uncovered === 0) return undefined
    const path = this.#findBestPath()
    for (const transition of path) this.#markCovered(this.#stepOf[transition] as number)
    return [0, ...path.map((transition) => this.#graph.to[transition] as number)]
  }

  #markCovered(step: number): void {
    if (step === NO_STEP || this.#isUncovered[step] === 0) return
    this.#isUncovered[step] = 0
    this.#uncovered -= 1
  }

  /**
   * The transitions of the best path. All but the last one lead to a state with a higher number, so
   * a path visits no state twice before its last transition. Every state is reachable in this way:
   * a state gets its number when it is first reached, from a state with a lower number.
   */
  #findBestPath(): number[] {
    const { count, from, to } = this.#graph
    const newSteps = new Int32Array(count).fill(NOWHERE)
    const lastTransitionTo = new Int32Array(count).fill(NOWHERE)
    newSteps[0] = 0
    let [lastTransition, mostNewSteps] = [NOWHERE, 0]
    for (let transition = 0; transition < from.length; transition += 1) {
      const [before, after] = [from[transition] as number, to[transition] as number]
      const newStepsBefore = newSteps[before] as number
      if (newStepsBefore === NOWHERE) continue
      const step = this.#stepOf[transition] as number
      const newStepsAfter =
        newStepsBefore + (step === NO_STEP ? 0 : (this.#isUncovered[step] as number))
      if (newStepsAfter > mostNewSteps) [lastTransition, mostNewSteps] = [transition, newStepsAfter]
      if (after <= before || newStepsAfter <= (newSteps[after] as number)) continue
      newSteps[after] = newStepsAfter
      lastTransitionTo[after] = transition
    }
    const path: number[] = []
    for (
      let transition = lastTransition;
      transition !== NOWHERE;
      transition = lastTransitionTo[from[transition] as number] as number
    ) {
      path.unshift(transition)
    }
    return path
  }
}
