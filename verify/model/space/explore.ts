// Explores every reachable state breadth-first, and checks the invariants on every transition,
// including those to known states. Then checks liveness: from every state, the fault-free run
// reaches a terminal state. In the fault-free run, each state continues with its fault-free
// transition of the lowest rank.
import { toText } from '../store/rows.ts'
import type { Product } from '../programs/product.ts'
import { checkState, haveAllOperationsEnded } from './invariants.ts'
import { checkStep } from './step-invariants.ts'
import type { State, Transition } from './state.ts'
import { decode, encode, Interner, maxInstances, PairMap, StateTable, widthOf } from './state.ts'
import type { Space } from './space.ts'
import { livesOf, rowOfKey } from './canonical.ts'
import { TransitionSystem } from './transition-system.ts'

/** A violated invariant, and the counterexample: the trace from the initial state. */
export interface Violation {
  readonly message: string
  readonly trace: readonly string[]
}

export interface ExplorationResult {
  readonly space: string
  readonly states: number
  readonly transitions: number
  /** Length of the shortest path to the state that is farthest from the initial state. */
  readonly depth: number
  readonly databases: number
  readonly providers: number
  /** Number of different nodes of all programs. */
  readonly programNodes: number
  /** Number of statements that were executed again next to rows of other keys. */
  readonly statementsBesideOtherKeys: number
  readonly violations: readonly Violation[]
  readonly seconds: number
}

export interface ExploreOptions {
  /** How many states to expand at most. */
  readonly statesMax?: number
  /** Receives the number of known states, and how many of them are expanded. */
  readonly onProgress?: (known: number, done: number) => void
  /**
   * Whether to continue after this violation. By default the first violation ends the exploration.
   */
  readonly continueAfter?: (message: string) => boolean
}

const STATES_PER_REPORT = 20_000
/** Enough for a report. */
const VIOLATIONS_MAX = 10
const TERMINAL = -1
const STUCK = -2

export async function explore(
  product: Product,
  space: Space,
  options: ExploreOptions = {},
): Promise<ExplorationResult> {
  const exploration = new Exploration(product, space)
  try {
    return await exploration.run(options)
  } finally {
    await exploration.system.dispose()
  }
}

class Exploration {
  readonly system: TransitionSystem
  readonly #space: Space
  readonly #product: Product
  readonly #table: StateTable
  readonly #labels = new Interner<string>()
  readonly #row: Int32Array
  readonly #stepChecks = new PairMap<readonly string[]>()
  readonly #stateChecks = new PairMap<readonly string[]>()
  readonly #violations = new Map<string, Violation>()
  #transitions = 0

  constructor(product: Product, space: Space) {
    this.system = new TransitionSystem(product, space)
    this.#space = space
    this.#product = product
    this.#table = new StateTable(widthOf(space))
    this.#row = new Int32Array(widthOf(space))
  }

  async run({
    statesMax = Number.POSITIVE_INFINITY,
    onProgress,
    continueAfter = () => false,
  }: ExploreOptions): Promise<ExplorationResult> {
    const startedAt = performance.now()
    this.#add(this.system.initialState(), -1, () => '')
    for (let index = 0; index < Math.min(this.#table.count, statesMax); index += 1) {
      if (index % STATES_PER_REPORT === 0) onProgress?.(this.#table.count, index)
      await this.#expand(index)
      const hasMaximum = this.#violations.size >= VIOLATIONS_MAX
      if (hasMaximum || [...this.#violations.keys()].some((message) => !continueAfter(message)))
        break
    }
    const isWhole = this.#violations.size === 0 && this.#table.count <= statesMax
    if (isWhole) this.#checkLiveness()
    const { databases, providers } = this.system.stepper
    return {
      space: this.#space.name,
      states: this.#table.count,
      transitions: this.#transitions,
      depth: this.#depth(),
      databases: databases.size,
      providers: providers.size,
      programNodes: this.system.programNodes,
      statementsBesideOtherKeys: this.system.stepper.frames.checked,
      violations: [...this.#violations.values()],
      seconds: (performance.now() - startedAt) / 1_000,
    }
  }

  async #expand(index: number): Promise<void> {
    const state = decode(this.#table.row(index))
    const transitions = await this.system.transitions(state)
    let faultFreeNext = this.#isTerminal(state) ? TERMINAL : STUCK
    let lowestRank = Number.POSITIVE_INFINITY
    for (const transition of transitions) {
      this.#transitions += 1
      const next = this.#add(transition.state, index, transition.describe)
      this.#check(index, state, transition)
      if (faultFreeNext === TERMINAL || transition.rank >= lowestRank || next === index) continue
      lowestRank = transition.rank
      faultFreeNext = next
    }
    this.#table.faultFreeNext.set(index, faultFreeNext)
  }

  #add(state: State, parent: number, describe: () => string): number {
    if (state.instances.length > maxInstances(this.#space))
      throw new Error('too many instances run')
    encode(state, this.#row)
    const index = this.#table.add(this.#row)
    if (index < 0) return -index - 1
    this.#table.parents.set(index, parent)
    this.#table.labels.set(index, this.#labels.idOf(describe()))
    return index
  }

  #check(index: number, before: State, { describe, state, violations }: Transition): void {
    for (const messages of [violations, this.#checkStep(before, state), this.#checkState(state)]) {
      for (const message of messages)
        this.#addViolation(message, () => [...this.#traceTo(index), describe()])
    }
  }

  #addViolation(message: string, path: () => readonly string[]): void {
    if (!this.#violations.has(message)) this.#violations.set(message, { message, trace: path() })
  }

  #checkStep(before: State, after: State): readonly string[] {
    if (before.database === after.database) return NONE
    const cached = this.#stepChecks.get(before.database, after.database)
    if (cached !== undefined) return cached
    const violations = checkStep(
      this.#product,
      this.system.database(before),
      this.system.database(after),
    )
    return this.#stepChecks.set(before.database, after.database, violations)
  }

  #checkState(state: State): readonly string[] {
    const cached = this.#stateChecks.get(state.database, state.provider)
    if (cached !== undefined) return cached
    const provider = this.system.stepper.providers.valueOf(state.provider)
    const database = this.system.database(state)
    const violations = checkState(this.#product, database, provider, this.#space)
    return this.#stateChecks.set(state.database, state.provider, violations)
  }

  #isTerminal(state: State): boolean {
    if (state.instances.length > 0) return false
    const database = this.system.database(state)
    const refusals = this.system.refusalSets.valueOf(state.refusals)
    for (let key = 0; key < this.#space.keys; key += 1) {
      const isUnused = rowOfKey(database, key) === undefined && livesOf(database, key) === 0
      if (isUnused && refusals[key] === undefined) return false
    }
    return haveAllOperationsEnded(database, refusals)
  }

  /** Liveness: the fault-free run from every state terminates. */
  #checkLiveness(): void {
    const { faultFreeNext, count } = this.#table
    const marks = new Int8Array(count)
    for (let index = 0; index < count; index += 1) {
      const path: number[] = []
      let at = index
      while (at >= 0 && marks[at] === 0) {
        marks[at] = ON_CURRENT_RUN
        path.push(at)
        at = faultFreeNext.get(at)
      }
      const isTerminating = at === TERMINAL || (at >= 0 && marks[at] === TERMINATES)
      for (const visited of path) marks[visited] = isTerminating ? TERMINATES : NEVER_TERMINATES
      if (isTerminating) continue
      const message =
        at === STUCK ? '7: no program continues an operation' : '7: an operation loops forever'
      this.#addViolation(message, () => [
        ...this.#traceTo(index),
        ...this.#describeFaultFreeRun(index),
      ])
    }
  }

  #describeFaultFreeRun(index: number): string[] {
    const seen = new Set<number>()
    const lines: string[] = []
    for (let at = index; at >= 0 && !seen.has(at); at = this.#table.faultFreeNext.get(at)) {
      seen.add(at)
      lines.push(`... ${this.#describe(at)}`)
    }
    return lines
  }

  #describe(index: number): string {
    const state = decode(this.#table.row(index))
    const keys = this.system.database(state)['idempotency_keys'] ?? []
    const lines = keys.map(
      ({ key, status, recovery_point }) =>
        `${toText(key)} ${toText(status)} ${toText(recovery_point)}`,
    )
    const kinds = state.instances.map((id) => this.system.instances.valueOf(id).kind)
    return `${lines.join(', ')} [${kinds.join(' ')}]`
  }

  #traceTo(index: number): string[] {
    const path: string[] = []
    for (let at = index; at > 0; at = this.#table.parents.get(at)) {
      path.unshift(this.#labels.valueOf(this.#table.labels.get(at)))
    }
    return path
  }

  #depth(): number {
    return this.#traceTo(this.#table.count - 1).length
  }
}

const NONE: readonly string[] = []
const ON_CURRENT_RUN = 1
const TERMINATES = 2
const NEVER_TERMINATES = 3
