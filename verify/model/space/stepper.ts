// What one program may do next, and what comes of it. Everything that is asked twice is worked out once.
import type { Automaton } from '../programs/automaton.ts'
import type { Product } from '../programs/product.ts'
import type { Request, StatementRequest } from '../programs/requests.ts'
import type { Database } from '../store/database.ts'
import type { Executed } from '../store/memory-store.ts'
import { CallSteps } from './call-steps.ts'
import { Consequences } from './consequences.ts'
import { AS_BEFORE, joined, type Effect, type Place } from './effect.ts'
import { Frames } from './frames.ts'
import type { Instance } from './instance.ts'
import { Interner } from './interner.ts'
import { Missing } from './missing.ts'
import { both, Pairs } from './pairs.ts'
import type { Provider } from './provider.ts'
import type { Space } from './space.ts'
import { isRead, StatementSteps } from './statement-steps.ts'

export class Stepper {
  readonly databases = new Interner<Database>()
  readonly providers = new Interner<Provider>()
  readonly automaton: Automaton
  readonly frames: Frames
  readonly #space: Space
  readonly #statements: StatementSteps
  readonly #calls: CallSteps
  /** By the instance and where it stands, while nobody else has a transaction open; by their texts, while somebody has. */
  readonly #steps = new Pairs<readonly Effect[]>()
  readonly #stepsBeside = new Map<string, readonly Effect[]>()

  constructor({ schema }: Product, space: Space, automaton: Automaton) {
    this.#space = space
    this.automaton = automaton
    this.frames = new Frames(schema, this.databases)
    const { databases, providers } = this
    const parts = { schema, space, automaton, databases, providers }
    const consequences = new Consequences(parts)
    this.#statements = new StatementSteps(parts, consequences, this.frames)
    this.#calls = new CallSteps(parts, consequences)
  }

  /**
   * @param number that of the instance, by which it is known.
   * @throws Missing when it has not been worked out before.
   */
  steps(number: number, instance: Instance, place: Place): readonly Effect[] {
    const isCall = this.automaton.nodeOf(instance.node).pending?.kind === 'call'
    const { database, others } = place
    // A statement is one and the same, whatever the provider has done.
    const provider = isCall ? place.provider : AS_BEFORE
    const find = () => this.#find(instance, { database, provider, others })
    if (others.length === 0) {
      return this.#steps.find(number, isCall ? both(database, provider) : database, find)
    }
    const name = `${number} ${database} ${provider} ${JSON.stringify(others)}`
    const known = this.#stepsBeside.get(name)
    if (known !== undefined) return known
    throw new Missing(async () => void this.#stepsBeside.set(name, await find()))
  }

  async #find(instance: Instance, place: Place): Promise<Effect[]> {
    const { pending } = this.automaton.nodeOf(instance.node)
    if (pending === undefined) throw new Error('a program that has ended does nothing')
    const effects = await this.#carryOut(instance, place, pending)
    const crash = this.#calls.crash(instance, place)
    if (this.#space.isStepwise) return [...effects, ...crash, ...unsettled(effects)]
    const onwards: Effect[] = []
    for (const effect of effects) onwards.push(...(await this.#goOn(effect, place, pending)))
    return [...onwards, ...crash, ...unsettled(onwards)]
  }

  #carryOut(instance: Instance, place: Place, request: Request): Promise<Effect[]> {
    if (request.kind === 'call') return this.#calls.find(instance, place, request)
    if (request.kind === 'statement') return this.#statements.find(instance, place, request)
    return this.#statements.end(instance, place, request)
  }

  /**
   * A transaction that has begun is carried to its end in one move: what it works on is locked, so that nobody
   * could come in between. So is a read after which the program ends, whatever it has found.
   */
  async #goOn(effect: Effect, place: Place, before: Request): Promise<Effect[]> {
    const { after, database, provider, act } = effect
    const pending = after && this.automaton.nodeOf(after.node).pending
    if (after === undefined || pending === undefined || pending.kind === 'call') return [effect]
    const at = { ...place, database, provider }
    const isWithin = 'transaction' in before && before.transaction !== null && act === 'done'
    if (pending.kind === 'statement' && pending.transaction === null) {
      return [await this.#readOn(effect, at, pending)]
    }
    if (!isWithin || pending.transaction !== before.transaction) return [effect]
    if (pending.kind !== 'statement') return await this.#endOn(effect, at, pending)
    const executed = this.#statements.execute(after, at, pending)
    if (executed.kind === 'blocked') return [effect]
    const next = await this.#executed(after, at, pending, executed)
    return await this.#goOn(joined(effect, next), place, before)
  }

  async #readOn(effect: Effect, place: Place, request: StatementRequest): Promise<Effect> {
    const { after } = effect
    if (after === undefined || !isRead(request)) return effect
    const executed = this.#statements.execute(after, place, request)
    if (executed.kind === 'blocked') return effect
    const next = await this.#executed(after, place, request, executed)
    return next.ended === undefined ? effect : joined(effect, next)
  }

  async #executed(
    instance: Instance,
    place: Place,
    request: StatementRequest,
    executed: Exclude<Executed, { kind: 'blocked' }>,
  ): Promise<Effect> {
    const effect = await this.#statements.executed(instance, place, request, executed, false)
    const beside = this.#statements.brokenBeside(instance, place, request, executed)
    return { ...effect, broken: [...effect.broken, ...beside] }
  }

  async #endOn(
    effect: Effect,
    place: Place,
    request: Extract<Request, { kind: 'commit' | 'rollback' }>,
  ): Promise<Effect[]> {
    const { after } = effect
    if (after === undefined) return [effect]
    const ends = await this.#statements.end(after, place, request)
    const onwards: Effect[] = []
    for (const end of ends) {
      // Of two things that cost something a move has one.
      if (effect.cost !== undefined && end.cost !== undefined) continue
      onwards.push(...(await this.#goOn(joined(effect, end), place, request)))
    }
    return onwards
  }

  /** As `StatementSteps.pass`. */
  pass(instance: Instance, place: Place): Promise<Instance | undefined> {
    return this.#statements.pass(instance, place)
  }
}

/** A worker that has done its last statement may end before pg-boss hears of it. */
function unsettled(effects: readonly Effect[]): Effect[] {
  return effects.flatMap(({ unsettled: database, ...effect }): Effect[] => {
    if (database === undefined || effect.cost !== undefined) return []
    const label = `${effect.label}, and crashes`
    const crash = { label, act: 'unsettled', cost: 'crashes', isPlain: false } as const
    return [{ ...effect, ...crash, database, ended: undefined }]
  })
}
