// Replays paths of the model on PostgreSQL: the same programs of the product do the same things in the same order, and
// after each of them the store must be what the model says it is.
import type { Sql } from '../../../src/db/connection/client.ts'
import type { Database } from '../store/database.ts'
import { fillStore } from '../store/on-postgres.ts'
import type { Effect } from '../space/effect.ts'
import { afterExpiry } from '../space/instance.ts'
import type { Move } from '../space/move.ts'
import type { World } from '../space/world.ts'
import { livesOf } from '../space/starts.ts'
import type { State } from '../space/state.ts'
import { operationIdOf, paymentIdOf, refundIdOf } from '../programs/ids.ts'
import type { Connections } from './connections.ts'
import { LiveProgram } from './live-program.ts'
import { moveClock } from './real-store.ts'
import { readPicture, pictureOf } from './picture.ts'

/** PostgreSQL is not what the model says; the message is the path until then. */
export class ReplayError extends Error {
  override name = 'ReplayError'
}

interface Place {
  /** Of whoever fills the store and looks at it. */
  readonly sql: Sql
  /** Of the programs. */
  readonly connections: Connections
}

interface Living {
  /** Which instance of the model it is. */
  instance: number
  readonly program: LiveProgram
}

/** Whether another store can be made to do it at a wanted moment. */
export const isReplayable = ({ action }: Move): boolean =>
  action.kind !== 'step' || (action.effect.act !== 'begins' && action.effect.act !== 'waits')

/** @throws ReplayError */
export async function replay(world: World, place: Place, moves: readonly Move[]): Promise<void> {
  const path = new Path(world, place)
  try {
    await path.run(moves)
  } catch (error) {
    const shown = moves.slice(0, path.done + 1).map(({ describe }) => describe())
    throw new ReplayError(`${shown.join('\n')}\n${String(error)}`, { cause: error })
  } finally {
    await path.end()
  }
}

class Path {
  readonly #world: World
  readonly #sql: Sql
  readonly #connections: Connections
  #living: Living[] = []
  done = 0

  constructor(world: World, { sql, connections }: Place) {
    this.#world = world
    this.#sql = sql
    this.#connections = connections
  }

  async run(moves: readonly Move[]): Promise<void> {
    let before = this.#world.begin()
    await fillStore(this.#sql, this.#world.database(before))
    for (const move of moves) {
      await this.#make(before, move)
      await this.#compare(move.state)
      before = move.state
      this.done += 1
    }
  }

  async end(): Promise<void> {
    await Promise.all(this.#living.map(({ program }) => program.crash()))
  }

  async #make(before: State, { action, state }: Move): Promise<void> {
    if (action.kind === 'arrival') return
    if (action.kind === 'time') {
      const [from, to] = [before, state].map((at) => this.#world.database(at))
      await moveClock(this.#sql, from as Database, to as Database)
      this.#moveOwnClocks(action.key, state)
      return
    }
    const { begins, effect } = action
    const living = begins ? await this.#begin(action.before, before) : this.#find(action.before)
    this.#living = this.#living.filter((other) => other !== living)
    for (const other of this.#living) other.instance = this.#world.bystander(other.instance, effect)
    await this.#act(living.program, effect)
    if (action.after === undefined) {
      await this.#finish(living, effect)
    } else {
      await this.#goOn(living.program, this.#world.node(action.after).depth)
      this.#living.push({ instance: action.after, program: living.program })
    }
  }

  /** Whoever has lost its lease finds so by its own clock, too. */
  #moveOwnClocks(key: number, { instances }: State): void {
    for (const living of this.#living) {
      if (instances.includes(living.instance)) continue
      const { instances: known } = this.#world
      living.instance = known.idOf(afterExpiry(known.valueOf(living.instance), key))
      living.program.isLate = true
    }
  }

  #find(instance: number): Living {
    const living = this.#living.find((other) => other.instance === instance)
    if (living === undefined) throw new Error('no such program runs')
    return living
  }

  async #begin(instance: number, before: State): Promise<Living> {
    const ids = this.#idsFor(instance, before)
    const program = new LiveProgram(this.#world.program(instance), this.#connections, ids)
    const living = { instance, program }
    this.#living.push(living)
    await program.settle()
    await this.#goOn(program, this.#world.node(instance).depth)
    return living
  }

  /** The ids that the rows of a request have in the model, should it be the one that reserves its key. */
  #idsFor(instance: number, before: State): string[] {
    const { kind, key } = this.#world.instances.valueOf(instance)
    if (kind !== 'send') return []
    const life = livesOf(this.#world.database(before), key) + 1
    const isRefund = this.#world.space.operation === 'refund.create'
    return [operationIdOf(key, life), isRefund ? refundIdOf(key, life) : paymentIdOf(key, life)]
  }

  /** What the model has passed over, because it finds nothing, is asked for here. */
  async #goOn(program: LiveProgram, depth: number): Promise<void> {
    while (program.pending !== undefined && program.depth < depth) await program.carryOut(true)
  }

  async #act(program: LiveProgram, { act, answer }: Effect): Promise<void> {
    if (act === 'crash') return
    if (answer !== undefined) return await program.answer(answer)
    if (act === 'not_done') return await program.loseConnection()
    if (act === 'end_unheard' || act === 'end_not_done') {
      while (program.pending?.kind === 'statement') await program.carryOut(true)
      return act === 'end_unheard' ? await program.carryOut(false) : await program.loseConnection()
    }
    await program.carryOut(act === 'done' || act === 'unsettled')
  }

  async #finish({ program, instance }: Living, { act }: Effect): Promise<void> {
    if (act !== 'crash') {
      while (program.pending !== undefined) await program.carryOut(true)
      if (act !== 'unsettled') await this.#settleJob(instance, program.value)
    }
    await program.crash()
  }

  /** What pg-boss does with the job of a worker. */
  async #settleJob(instance: number, value: unknown): Promise<void> {
    const { kind, key, job } = this.#world.instances.valueOf(instance)
    if (kind !== 'work' || (value !== 'completed' && value !== 'deadletter')) return
    const isCurrent = job === 'current'
    await this.#sql`
      delete from pgboss.job using idempotency_keys as operation
      where operation.key = ${`key-${key}`} and job.data ->> 'operationId' = operation.id::text
        and (job.id = operation.job_id) = ${isCurrent}
    `
  }

  async #compare(state: State): Promise<void> {
    const own = pictureOf(this.#world.database(state))
    const real = await readPicture(this.#sql)
    if (own !== real) throw new Error(`the model has\n${own}\nand PostgreSQL\n${real}`)
  }
}
