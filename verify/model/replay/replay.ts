// Replays a path of the model on PostgreSQL: the same programs take the same steps in the same
// order. After each transition the PostgreSQL store must equal the model's.
import type { Sql } from '../../../src/db/connection/client.ts'
import type { Database } from '../store/database.ts'
import { fillStore } from '../store/postgres-store.ts'
import type { Effect } from '../space/effect.ts'
import { endedJobs } from '../space/effect-builder.ts'
import { afterExpiry } from '../space/instance.ts'
import type { Transition } from '../space/transition.ts'
import type { TransitionSystem } from '../space/transition-system.ts'
import { livesOf } from '../space/rows-of-key.ts'
import type { State } from '../space/state.ts'
import { nameOfKey, operationIdOf, paymentIdOf, refundIdOf } from '../programs/ids.ts'
import type { Connections } from './connections.ts'
import { LiveProgram } from './live-program.ts'
import { shiftTimestamps } from './shift-timestamps.ts'
import { describePostgres, describeDatabase } from './compare-stores.ts'

/** PostgreSQL differs from the model. The message is the path up to the difference. */
export class ReplayError extends Error {
  override name = 'ReplayError'
}

interface ReplayConnections {
  /** Fills the store and reads it. */
  readonly sql: Sql
  /** For the programs. */
  readonly connections: Connections
}

interface RunningProgram {
  /** Number of the model's instance that it replays. */
  instance: number
  readonly program: LiveProgram
}

/**
 * Whether PostgreSQL can be made to do the same at a chosen time. It cannot for a statement that
 * begins early or waits for a lock.
 */
export const isReplayable = ({ action }: Transition): boolean =>
  action.kind !== 'step' || (action.effect.act !== 'begins' && action.effect.act !== 'waits')

/** @throws ReplayError */
export async function replay(
  system: TransitionSystem,
  connections: ReplayConnections,
  transitions: readonly Transition[],
): Promise<void> {
  const path = new Path(system, connections)
  try {
    await path.run(transitions)
  } catch (error) {
    const trace = transitions.slice(0, path.doneCount + 1).map(({ describe }) => describe())
    throw new ReplayError(`${trace.join('\n')}\n${String(error)}`, { cause: error })
  } finally {
    await path.stop()
  }
}

class Path {
  readonly #system: TransitionSystem
  readonly #sql: Sql
  readonly #connections: Connections
  #programs: RunningProgram[] = []
  doneCount = 0

  constructor(system: TransitionSystem, { sql, connections }: ReplayConnections) {
    this.#system = system
    this.#sql = sql
    this.#connections = connections
  }

  async run(transitions: readonly Transition[]): Promise<void> {
    let before = this.#system.initialState()
    await fillStore(this.#sql, this.#system.database(before))
    for (const transition of transitions) {
      await this.#perform(before, transition)
      await this.#compare(transition.state)
      before = transition.state
      this.doneCount += 1
    }
  }

  async stop(): Promise<void> {
    await Promise.all(this.#programs.map(({ program }) => program.crash()))
  }

  async #perform(before: State, { action, state }: Transition): Promise<void> {
    if (action.kind === 'arrival') return
    if (action.kind === 'time') {
      const [from, to] = [before, state].map((at) => this.#system.database(at))
      await shiftTimestamps(this.#sql, from as Database, to as Database)
      this.#expireOwnLease(action.key, state)
      return
    }
    const { isStart, effect } = action
    const running = isStart ? await this.#begin(action.before, before) : this.#find(action.before)
    this.#programs = this.#programs.filter((other) => other !== running)
    for (const other of this.#programs)
      other.instance = this.#system.afterEffectOnOther(other.instance, effect)
    await this.#act(running.program, effect)
    if (action.after === undefined) {
      await this.#finish(running.program, effect)
    } else {
      await this.#catchUp(running.program, this.#system.node(action.after).depth)
      this.#programs.push({ instance: action.after, program: running.program })
    }
    await this.#deleteJobs(action.before, effect)
  }

  /** An owner whose lease ran out notices it by its own clock, too. */
  #expireOwnLease(key: number, { instances }: State): void {
    for (const running of this.#programs) {
      if (instances.includes(running.instance)) continue
      const { instances: interner } = this.#system
      running.instance = interner.idOf(afterExpiry(interner.valueOf(running.instance), key))
      running.program.isLate = true
    }
  }

  #find(instance: number): RunningProgram {
    const running = this.#programs.find((other) => other.instance === instance)
    if (running === undefined) throw new Error(`instance ${instance} does not run`)
    return running
  }

  async #begin(instance: number, before: State): Promise<RunningProgram> {
    const ids = this.#idsFor(instance, before)
    const program = new LiveProgram(this.#system.program(instance), this.#connections, ids)
    const running = { instance, program }
    this.#programs.push(running)
    await program.runUntilPending()
    await this.#catchUp(program, this.#system.node(instance).depth)
    return running
  }

  /**
   * The ids that the rows of a request have in the model, in case it is the request that reserves
   * the key.
   */
  #idsFor(instance: number, before: State): string[] {
    const { kind, members } = this.#system.instances.valueOf(instance)
    if (kind !== 'send') return []
    const isRefund = this.#system.space.operation === 'refund.create'
    return members.flatMap((member) => {
      if (member === null) return []
      const { key } = member
      const life = livesOf(this.#system.database(before), key) + 1
      return [operationIdOf(key, life), isRefund ? refundIdOf(key, life) : paymentIdOf(key, life)]
    })
  }

  /** Executes the requests that the model skipped as no-ops, or took in the same step. */
  async #catchUp(program: LiveProgram, depth: number): Promise<void> {
    while (program.pending !== undefined && program.depth < depth)
      await program.executePending(true)
  }

  async #act(program: LiveProgram, { act, answer }: Effect): Promise<void> {
    if (act === 'crash') return
    if (answer !== undefined) return await program.answer(answer)
    if (act === 'not_executed') return await program.loseConnection()
    if (act === 'end_executed_answer_lost') {
      while (program.pending?.kind === 'statement') await program.executePending(true)
      return await program.executePending(false)
    }
    await program.executePending(act === 'executed' || act === 'crash_before_job_end')
  }

  async #finish(program: LiveProgram, { act, depth }: Effect): Promise<void> {
    if (act === 'crash_before_job_end') await this.#catchUp(program, depth)
    else if (act !== 'crash') await this.#catchUp(program, Number.POSITIVE_INFINITY)
    await program.crash()
  }

  /** What pg-boss does with the jobs that ended. */
  async #deleteJobs(instance: number, { results }: Effect): Promise<void> {
    for (const { key, job } of endedJobs(this.#system.instances.valueOf(instance), results)) {
      const isCurrent = job === 'current'
      await this.#sql`
        delete from atomic_jobs.job using idempotency_keys as operation
        where operation.key = ${nameOfKey(key)} and job.data ->> 'operationId' = operation.id::text
          and (job.id = operation.job_id) = ${isCurrent}
      `
    }
  }

  async #compare(state: State): Promise<void> {
    const expected = describeDatabase(this.#system.database(state))
    const actual = await describePostgres(this.#sql)
    if (expected !== actual)
      throw new Error(`the model's store is\n${expected}\nPostgreSQL's store is\n${actual}`)
  }
}
