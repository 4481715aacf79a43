// Everything that may happen next in a state: a program takes its next step, another one begins, time passes, a call
// that nobody waits for arrives.
import { Automaton, type Node, type Program } from '../programs/automaton.ts'
import type { Product } from '../programs/product.ts'
import type { Database, Work } from '../store/database.ts'
import { emptyDatabase } from './beginning.ts'
import { Clock } from './clock.ts'
import { afterNewJob, afterRaise, isMaintenance, whoIs, type Instance } from './instance.ts'
import { Interner } from './interner.ts'
import { Missing, withNothingMissing } from './missing.ts'
import { NEVER, RANK, type Move } from './move.ts'
import { Arrivals } from './arrivals.ts'
import type { Space } from './space.ts'
import { Pairs } from './pairs.ts'
import { inOrder, spend, withOne, type State } from './state.ts'
import { Starts, type Start } from './starts.ts'
import { AS_BEFORE, type Effect, type Place } from './effect.ts'
import { Stepper } from './stepper.ts'
import { Hearing } from './hearing.ts'
import { NOTHING_TOLD, type Told } from './told.ts'

export class World {
  readonly stepper: Stepper
  readonly instances = new Interner<Instance>()
  readonly tolds = new Interner<Told>()
  readonly space: Space
  readonly #product: Product
  readonly #automaton = new Automaton()
  readonly #starts: Starts
  readonly #hearing: Hearing
  readonly #clock: Clock
  readonly #arrivals: Arrivals
  readonly #passed = new Map<string, number | undefined>()
  readonly #passedAlone = new Pairs<number | undefined>()
  readonly #bystanders = new Map<string, number>()
  readonly #afters = new WeakMap<Effect, number>()

  constructor(product: Product, space: Space) {
    this.space = space
    this.#product = product
    this.stepper = new Stepper(product, space, this.#automaton)
    const { databases, providers } = this.stepper
    const parts = { space, databases, providers, instances: this.instances, tolds: this.tolds }
    this.#starts = new Starts(product, this.#automaton, parts)
    this.#hearing = new Hearing(this.#automaton, parts)
    this.#clock = new Clock(this.#automaton, parts)
    this.#arrivals = new Arrivals(parts)
  }

  begin(): State {
    return {
      database: this.stepper.databases.idOf(emptyDatabase(this.#product.schema, this.space)),
      provider: this.stepper.providers.idOf({}),
      told: this.tolds.idOf(NOTHING_TOLD),
      budget: this.space.budget,
      instances: [],
    }
  }

  database({ database }: Pick<State, 'database'>): Database {
    return this.stepper.databases.valueOf(database)
  }

  node(instance: number): Node {
    return this.#automaton.nodeOf(this.instances.valueOf(instance).node)
  }

  /** The program that an instance is a run of. */
  program(instance: number): Program {
    return this.#automaton.programOf(this.node(instance))
  }

  /** How many steps of programs are known. */
  get moments(): number {
    return this.#automaton.size
  }

  dispose(): Promise<void> {
    return this.#automaton.dispose()
  }

  moves(state: State): Promise<Move[]> {
    return withNothingMissing(() => this.#moves(state))
  }

  #moves(state: State): Move[] {
    const running = state.instances.map((id) => this.instances.valueOf(id))
    const others = worksOf(running)
    const moves: Move[] = []
    for (const [index, id] of state.instances.entries()) {
      if (id === state.instances[index - 1]) continue
      const staying = state.instances.toSpliced(index, 1)
      const ofThese = others.length === 0 ? others : worksOf(running.toSpliced(index, 1))
      this.#step(moves, state, { id, staying, others: ofThese })
    }
    for (const start of this.#starts.find(state, running)) {
      const id = start.isPassing ? this.#passOn(start.id, { ...state, others }) : start.id
      if (id !== undefined)
        this.#step(moves, state, { id, staying: state.instances, others, start })
    }
    moves.push(...this.#clock.moves(state, running), ...this.#arrivals.moves(state))
    return moves
  }

  #step(moves: Move[], state: State, stepping: Stepping): void {
    const { id, others, start } = stepping
    const { database, provider } = state
    const effects = this.stepper.steps(id, this.instances.valueOf(id), {
      database,
      provider,
      others,
    })
    for (const effect of effects) {
      const { cost } = effect
      if (cost !== undefined && state.budget[cost] === 0) continue
      // What ends before it has done anything has never begun.
      if (start !== undefined && effect.act === 'crash') continue
      moves.push(this.#move(state, stepping, effect))
    }
  }

  #move(state: State, { id, staying, start }: Stepping, effect: Effect): Move {
    const { database, cost, isPlain } = effect
    const provider = effect.provider === AS_BEFORE ? state.provider : effect.provider
    const others = this.#others(staying, effect)
    const after = this.#after(effect, others)
    const instance = this.instances.valueOf(id)
    const heard = this.#hearing.hear(state.told, instance, effect)
    return {
      describe: () => `${start?.label ?? whoIs(instance)}: ${effect.label}`,
      action: { kind: 'step', begins: start !== undefined, before: id, effect, after },
      rank: isPlain ? (start?.rank ?? RANK.step) : NEVER,
      broken: heard.broken.length === 0 ? effect.broken : [...effect.broken, ...heard.broken],
      state: {
        database,
        provider,
        told: heard.told,
        budget: cost === undefined ? state.budget : spend(state.budget, cost),
        instances: after === undefined ? others : withOne(others, after),
      },
    }
  }

  #others(staying: readonly number[], effect: Effect): readonly number[] {
    if (effect.raised.length + effect.rejobbed.length === 0) return staying
    return inOrder(staying.map((id) => this.bystander(id, effect)))
  }

  /** Another program, whose tokens may be over by what was done. */
  bystander(id: number, { raised, rejobbed }: Effect): number {
    if (raised.length + rejobbed.length === 0) return id
    const name = `${id} ${raised.join()} ${rejobbed.join()}`
    const known = this.#bystanders.get(name)
    if (known !== undefined) return known
    const raisedOne = raised.reduce(
      (one, key) => afterRaise(one, key, false),
      this.instances.valueOf(id),
    )
    const changed = this.instances.idOf(rejobbed.reduce(afterNewJob, raisedOne))
    this.#bystanders.set(name, changed)
    return changed
  }

  #after(effect: Effect, others: readonly number[]): number | undefined {
    const { after, database, provider } = effect
    if (after === undefined) return undefined
    const known = this.#afters.get(effect)
    const id = known ?? this.instances.idOf(after)
    if (known === undefined) this.#afters.set(effect, id)
    if (!isMaintenance(after)) return id
    const works = worksOf(others.map((other) => this.instances.valueOf(other)))
    return this.#passOn(id, { database, provider, others: works })
  }

  /** What does maintenance goes on at once where there is nothing for it to do. */
  #passOn(id: number, { database, provider, others }: Place): number | undefined {
    const place = { database, provider, others }
    const pass = async () => {
      const passed = await this.stepper.pass(this.instances.valueOf(id), place)
      return passed && this.instances.idOf(passed)
    }
    if (others.length === 0) return this.#passedAlone.find(id, database, pass)
    const name = `${id} ${database} ${JSON.stringify(others)}`
    if (this.#passed.has(name)) return this.#passed.get(name)
    throw new Missing(async () => void this.#passed.set(name, await pass()))
  }
}

interface Stepping {
  readonly id: number
  /** The others, by their numbers, and what their open transactions have. */
  readonly staying: readonly number[]
  readonly others: readonly Work[]
  /** Of a program that begins. */
  readonly start?: Start
}

const NO_WORKS: readonly Work[] = []

function worksOf(instances: readonly Instance[]): readonly Work[] {
  if (instances.every(({ works }) => works.length === 0)) return NO_WORKS
  return instances.flatMap(({ works }) => works.map(([, work]) => work))
}
