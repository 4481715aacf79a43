// Computes the transitions of a state: an instance takes its next step, a program starts, time
// passes, or a late call reaches the provider.
import { Automaton } from '../programs/automaton.ts'
import type { Product } from '../programs/product.ts'
import type { Request, StatementRequest } from '../programs/requests.ts'
import type { Database, Work } from '../store/rows.ts'
import type { ExecutionResult } from '../store/memory-store.ts'
import { CallSteps, LateCalls } from './call-steps.ts'
import { type Effect, EffectBuilder, joinEffects, type SharedState, UNCHANGED } from './effect.ts'
import { Frames } from './frames.ts'
import type { Instance } from './instance.ts'
import { afterNewEpoch, afterNewJob, isMaintenance, nameOfInstance } from './instance.ts'
import type { State, Transition } from './state.ts'
import {
  computeOnDemand,
  insertSorted,
  Interner,
  NEVER,
  NotComputedYet,
  pairKey,
  PairMap,
  RANK,
  sortNumbers,
  spend,
} from './state.ts'
import type { Provider } from './provider.ts'
import type { Space } from './space.ts'
import { StatementSteps } from './statement-steps.ts'
import { initialDatabase } from './canonical.ts'
import { Clock } from './clock.ts'
import { type Start, Starts } from './starts.ts'
import { EndingChecks } from './client-answers.ts'
import { NO_REFUSALS, type Refusals } from './search-context.ts'

class Stepper {
  readonly databases = new Interner<Database>()
  readonly providers = new Interner<Provider>()
  readonly automaton: Automaton
  readonly frames: Frames
  readonly #space: Space
  readonly #statements: StatementSteps
  readonly #calls: CallSteps
  /**
   * By instance and store while no other instance has an open transaction; otherwise by the text of
   * these transactions, too.
   */
  readonly #stepsAlone = new PairMap<readonly Effect[]>()
  readonly #stepsWithOthers = new Map<string, readonly Effect[]>()

  constructor({ schema }: Product, space: Space, automaton: Automaton) {
    this.#space = space
    this.automaton = automaton
    this.frames = new Frames(schema, this.databases)
    const { databases, providers } = this
    const parts = { schema, space, automaton, databases, providers }
    const consequences = new EffectBuilder(parts)
    this.#statements = new StatementSteps(parts, consequences, this.frames)
    this.#calls = new CallSteps(parts, consequences)
  }

  /**
   * @param instanceId the interned number of the instance.
   * @throws NotComputedYet when the effects were not computed before.
   */
  steps(instanceId: number, instance: Instance, shared: SharedState): readonly Effect[] {
    const isCall = this.automaton.nodeOf(instance.node).pending?.kind === 'call'
    const { database, others } = shared
    // The effect of a statement does not depend on the provider.
    const provider = isCall ? shared.provider : UNCHANGED
    const find = () => this.#compute(instance, { database, provider, others })
    if (others.length === 0) {
      return this.#stepsAlone.find(
        instanceId,
        isCall ? pairKey(database, provider) : database,
        find,
      )
    }
    const name = `${instanceId} ${database} ${provider} ${JSON.stringify(others)}`
    const cached = this.#stepsWithOthers.get(name)
    if (cached !== undefined) return cached
    throw new NotComputedYet(async () => void this.#stepsWithOthers.set(name, await find()))
  }

  async #compute(instance: Instance, shared: SharedState): Promise<Effect[]> {
    const { pending } = this.automaton.nodeOf(instance.node)
    if (pending === undefined) throw new Error('the program has ended')
    const effects = await this.#carryOut(instance, shared, pending)
    const crash = this.#calls.crash(instance, shared)
    if (this.#space.isStepwise) return [...effects, ...crash, ...crashesBeforeJobEnd(effects)]
    const continued: Effect[] = []
    for (const effect of effects)
      continued.push(...(await this.#continueTransaction(effect, shared, pending)))
    return [...continued, ...crash, ...crashesBeforeJobEnd(continued)]
  }

  #carryOut(instance: Instance, shared: SharedState, request: Request): Promise<Effect[]> {
    if (request.kind === 'call') return this.#calls.find(instance, shared, request)
    if (request.kind === 'statement') return this.#statements.find(instance, shared, request)
    return this.#statements.end(instance, shared, request)
  }

  /**
   * Runs a started transaction to its end in one transition: the rows that it works on are locked,
   * so no other program can interleave. What it reads before it locks may be older: that is explored
   * with `early`, and statement by statement.
   */
  async #continueTransaction(
    effect: Effect,
    shared: SharedState,
    before: Request,
  ): Promise<Effect[]> {
    const { after, database, provider, act, results } = effect
    const pending = after && this.automaton.nodeOf(after.node).pending
    // Where a member ends, its process may crash before pg-boss ends the job.
    if (after === undefined || pending === undefined || results.length > 0) return [effect]
    if (pending.kind === 'call') return [effect]
    const at = { ...shared, database, provider }
    if (before.kind === 'call' || act !== 'executed') return [effect]
    if (pending.transaction !== before.transaction && !isReadAtOnce(pending)) return [effect]
    if (pending.kind !== 'statement') return await this.#continueEnd(effect, at, pending)
    const executed = this.#statements.execute(after, at, pending)
    if (executed.kind === 'blocked') return [effect]
    const next = await this.#executed(after, at, pending, executed)
    return await this.#continueTransaction(joinEffects(effect, next), shared, pending)
  }

  async #executed(
    instance: Instance,
    shared: SharedState,
    request: StatementRequest,
    executed: Exclude<ExecutionResult, { kind: 'blocked' }>,
  ): Promise<Effect> {
    const effect = await this.#statements.effectOfExecution(instance, shared, request, executed)
    const beside = this.#statements.checkBesideOtherKeys(instance, shared, request, executed)
    return { ...effect, violations: [...effect.violations, ...beside] }
  }

  async #continueEnd(
    effect: Effect,
    shared: SharedState,
    request: Extract<Request, { kind: 'commit' | 'rollback' }>,
  ): Promise<Effect[]> {
    const { after } = effect
    if (after === undefined) return [effect]
    const ends = await this.#statements.end(after, shared, request)
    const continued: Effect[] = []
    for (const end of ends) {
      // A transition contains at most one fault that uses the budget.
      if (effect.cost !== undefined && end.cost !== undefined) continue
      continued.push(
        ...(await this.#continueTransaction(joinEffects(effect, end), shared, request)),
      )
    }
    return continued
  }

  /** See `StatementSteps.skipNoOps`. */
  skipNoOps(instance: Instance, shared: SharedState): Promise<Instance | undefined> {
    return this.#statements.skipNoOps(instance, shared)
  }
}

/**
 * What a program reads alone behind a transaction, and only to say what it found: when its client should ask
 * again, what an expired key was used for, and why a claim or a record had no effect. As a step of its own, each
 * of these would multiply the states of the largest spaces. It is one in the space with single statements.
 */
const READ_AT_ONCE =
  /^select (job_id as job from|key_hash,|extract\(epoch from start_after|status, recovery_point as "recoveryPoint", lease_epoch)/

const isReadAtOnce = (request: Request): boolean =>
  request.kind === 'statement' && READ_AT_ONCE.test(request.text)

/** A worker may crash after the last statement of a member, before pg-boss ends its job. */
function crashesBeforeJobEnd(effects: readonly Effect[]): Effect[] {
  return effects.flatMap(({ databaseWithJob: database, ...effect }): Effect[] => {
    if (database === undefined || effect.cost !== undefined) return []
    const label = `${effect.label}, crashes`
    const crash = {
      label,
      cost: 'crashes',
      isFaultFree: false,
    } as const
    return [{ ...effect, ...crash, database, after: undefined, ended: undefined, results: [] }]
  })
}

export class TransitionSystem {
  readonly stepper: Stepper
  readonly instances = new Interner<Instance>()
  readonly refusalSets = new Interner<Refusals>()
  readonly space: Space
  readonly #product: Product
  readonly #automaton = new Automaton()
  readonly #starts: Starts
  readonly #endingChecks: EndingChecks
  readonly #clock: Clock
  readonly #lateCalls: LateCalls
  readonly #skipped = new Map<string, number | undefined>()
  readonly #skippedAlone = new PairMap<number | undefined>()
  readonly #othersAfterEffect = new Map<string, number>()
  readonly #afterIds = new WeakMap<Effect, number>()

  constructor(product: Product, space: Space) {
    this.space = space
    this.#product = product
    this.stepper = new Stepper(product, space, this.#automaton)
    const { databases, providers } = this.stepper
    const context = {
      space,
      databases,
      providers,
      instances: this.instances,
      refusalSets: this.refusalSets,
    }
    this.#starts = new Starts(product, this.#automaton, context)
    this.#endingChecks = new EndingChecks(this.#automaton, context)
    this.#clock = new Clock(this.#automaton, context)
    this.#lateCalls = new LateCalls(context)
  }

  initialState(): State {
    return {
      database: this.stepper.databases.idOf(initialDatabase(this.#product.schema, this.space)),
      provider: this.stepper.providers.idOf({}),
      refusals: this.refusalSets.idOf(NO_REFUSALS),
      budget: this.space.budget,
      instances: [],
    }
  }

  database({ database }: Pick<State, 'database'>): Database {
    return this.stepper.databases.valueOf(database)
  }

  /** Number of known nodes of all programs. */
  get programNodes(): number {
    return this.#automaton.size
  }

  dispose(): Promise<void> {
    return this.#automaton.dispose()
  }

  transitions(state: State): Promise<Transition[]> {
    return computeOnDemand(() => this.#findTransitions(state))
  }

  #findTransitions(state: State): Transition[] {
    const running = state.instances.map((id) => this.instances.valueOf(id))
    const others = openWorks(running)
    const transitions: Transition[] = []
    for (const [index, id] of state.instances.entries()) {
      if (id === state.instances[index - 1]) continue
      const otherInstances = state.instances.toSpliced(index, 1)
      const otherWorks = others.length === 0 ? others : openWorks(running.toSpliced(index, 1))
      this.#step(transitions, state, { id, otherInstances, others: otherWorks })
    }
    for (const start of this.#starts.find(state, running)) {
      const id = start.skipsNoOps ? this.#skipNoOps(start.id, { ...state, others }) : start.id
      if (id !== undefined)
        this.#step(transitions, state, { id, otherInstances: state.instances, others, start })
    }
    transitions.push(
      ...this.#clock.transitions(state, running),
      ...this.#lateCalls.transitions(state),
    )
    return transitions
  }

  #step(transitions: Transition[], state: State, source: StepSource): void {
    const { id, others, start } = source
    const { database, provider } = state
    const effects = this.stepper.steps(id, this.instances.valueOf(id), {
      database,
      provider,
      others,
    })
    for (const effect of effects) {
      const { cost } = effect
      if (cost !== undefined && state.budget[cost] === 0) continue
      // A program that crashes before its first step is one that never started.
      if (start !== undefined && effect.act === 'crash') continue
      transitions.push(this.#transition(state, source, effect))
    }
  }

  #transition(state: State, { id, otherInstances, start }: StepSource, effect: Effect): Transition {
    const { database, cost, isFaultFree } = effect
    const provider = effect.provider === UNCHANGED ? state.provider : effect.provider
    const others = this.#updateOthers(otherInstances, effect)
    const after = this.#after(effect, others)
    const instance = this.instances.valueOf(id)
    const ending = this.#endingChecks.check(state.refusals, instance, effect)
    return {
      describe: () => `${start?.label ?? nameOfInstance(instance)}: ${effect.label}`,
      rank: isFaultFree ? (start?.rank ?? RANK.step) : NEVER,
      violations:
        ending.violations.length === 0
          ? effect.violations
          : [...effect.violations, ...ending.violations],
      state: {
        database,
        provider,
        refusals: ending.refusals,
        budget: cost === undefined ? state.budget : spend(state.budget, cost),
        instances: after === undefined ? others : insertSorted(others, after),
      },
    }
  }

  #updateOthers(otherInstances: readonly number[], effect: Effect): readonly number[] {
    if (effect.keysWithNewEpoch.length + effect.keysWithNewJob.length === 0) return otherInstances
    return sortNumbers(otherInstances.map((id) => this.#afterEffectOnOther(id, effect)))
  }

  /** Another instance after the effect, which may have made its lease epoch or its job stale. */
  #afterEffectOnOther(id: number, { keysWithNewEpoch, keysWithNewJob }: Effect): number {
    if (keysWithNewEpoch.length + keysWithNewJob.length === 0) return id
    const name = `${id} ${keysWithNewEpoch.join()} ${keysWithNewJob.join()}`
    const cached = this.#othersAfterEffect.get(name)
    if (cached !== undefined) return cached
    const withRaisedEpochs = keysWithNewEpoch.reduce(
      (one, key) => afterNewEpoch(one, key, false),
      this.instances.valueOf(id),
    )
    const changed = this.instances.idOf(keysWithNewJob.reduce(afterNewJob, withRaisedEpochs))
    this.#othersAfterEffect.set(name, changed)
    return changed
  }

  #after(effect: Effect, others: readonly number[]): number | undefined {
    const { after, database, provider } = effect
    if (after === undefined) return undefined
    const cached = this.#afterIds.get(effect)
    const id = cached ?? this.instances.idOf(after)
    if (cached === undefined) this.#afterIds.set(effect, id)
    if (!isMaintenance(after)) return id
    const works = openWorks(others.map((other) => this.instances.valueOf(other)))
    return this.#skipNoOps(id, { database, provider, others: works })
  }

  /** Skips the requests of maintenance that have nothing to do in this state. */
  #skipNoOps(id: number, { database, provider, others }: SharedState): number | undefined {
    const shared = { database, provider, others }
    const compute = async () => {
      const advanced = await this.stepper.skipNoOps(this.instances.valueOf(id), shared)
      return advanced && this.instances.idOf(advanced)
    }
    if (others.length === 0) return this.#skippedAlone.find(id, database, compute)
    const name = `${id} ${database} ${JSON.stringify(others)}`
    if (this.#skipped.has(name)) return this.#skipped.get(name)
    throw new NotComputedYet(async () => void this.#skipped.set(name, await compute()))
  }
}

interface StepSource {
  readonly id: number
  /** The other instances, as numbers, and the work of their open transactions. */
  readonly otherInstances: readonly number[]
  readonly others: readonly Work[]
  /** For a program that starts. */
  readonly start?: Start
}

const NO_OPEN_WORKS: readonly Work[] = []

function openWorks(instances: readonly Instance[]): readonly Work[] {
  if (instances.every(({ works }) => works.length === 0)) return NO_OPEN_WORKS
  return instances.flatMap(({ works }) => works.map(([, work]) => work))
}
