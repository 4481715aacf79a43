// Computes and caches the effects of an instance's next step.
import type { Automaton } from '../programs/automaton.ts'
import type { Product } from '../programs/product.ts'
import type { Request, StatementRequest } from '../programs/requests.ts'
import type { Database } from '../store/database.ts'
import type { ExecutionResult } from '../store/memory-store.ts'
import { CallSteps } from './call-steps.ts'
import { EffectBuilder } from './effect-builder.ts'
import { UNCHANGED, joinEffects, type Effect, type SharedState } from './effect.ts'
import { Frames } from './frames.ts'
import type { Instance } from './instance.ts'
import { Interner } from './interner.ts'
import { NotComputedYet } from './compute-on-demand.ts'
import { pairKey, PairMap } from './pair-map.ts'
import type { Provider } from './provider.ts'
import type { Space } from './space.ts'
import { StatementSteps } from './statement-steps.ts'

export class Stepper {
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
    if (pending.transaction !== before.transaction) return [effect]
    if (pending.kind !== 'statement') return await this.#continueEnd(effect, at, pending)
    const executed = this.#statements.execute(after, at, pending)
    if (executed.kind === 'blocked') return [effect]
    const next = await this.#executed(after, at, pending, executed)
    return await this.#continueTransaction(joinEffects(effect, next), shared, before)
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
