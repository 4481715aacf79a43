// Finds the programs that may start in a state: a worker for each available job, maintenance, and
// client requests.
import type { Automaton, Program } from '../programs/automaton.ts'
import { nameOfKey, ownerOf } from '../programs/ids.ts'
import type { Product } from '../programs/product.ts'
import { programsOf, type Programs } from '../programs/programs.ts'
import type { Database } from '../store/database.ts'
import { toText, isObject, type Row } from '../store/rows.ts'
import { NEW_INSTANCE, isMaintenance, type Instance, type Member } from './instance.ts'
import { NotComputedYet } from './compute-on-demand.ts'
import { PairMap } from './pair-map.ts'
import type { SearchContext } from './search-context.ts'
import { findRequests, type PossibleRequest } from './possible-requests.ts'
import type { State } from './state.ts'
import { NEVER, RANK } from './transition.ts'

export interface Start {
  /** Number of the instance that starts. */
  readonly id: number
  readonly rank: number
  readonly label: string
  /** Whether its requests without effect are skipped. */
  readonly skipsNoOps: boolean
}

interface WorkerStart extends Start, Member {
  /** Whether the lease of its operation is still running. */
  readonly isLeased: boolean
}

const MAINTENANCE = ['sweep', 'reap', 'check'] as const

export class Starts {
  readonly #programs: Programs
  readonly #automaton: Automaton
  readonly #context: SearchContext
  readonly #initialNodes = new Map<string, number>()
  readonly #workerStartsByDatabase = new Map<number, readonly WorkerStart[]>()
  readonly #maintenanceStarts = new Map<string, Start>()
  readonly #requestStartsByState = new PairMap<readonly Start[]>()

  constructor(product: Product, automaton: Automaton, context: SearchContext) {
    this.#programs = programsOf(product, context.space)
    this.#automaton = automaton
    this.#context = context
  }

  /** @throws NotComputedYet when a program was not run before. */
  find(state: State, running: readonly Instance[]): Start[] {
    const { space } = this.#context
    const count = (isCounted: (instance: Instance) => boolean) => running.filter(isCounted).length
    const starts: Start[] = []
    if (count(({ kind }) => kind === 'work') < space.workers) {
      starts.push(...this.#workersOf(state, running))
    }
    if (count(isMaintenance) < space.maintenance) {
      for (const kind of MAINTENANCE) starts.push(this.#maintenance(kind))
    }
    if (count(({ kind }) => kind === 'send') < space.requests) {
      starts.push(...this.#requestsOf(state))
    }
    return starts
  }

  #workersOf({ database }: State, running: readonly Instance[]): WorkerStart[] {
    const cached = this.#workerStartsByDatabase.get(database)
    const starts = cached ?? this.#workerStarts(this.#context.databases.valueOf(database))
    if (cached === undefined) this.#workerStartsByDatabase.set(database, starts)
    return starts.filter(({ key, job, isLeased }) => {
      const isRunning = running.some(
        ({ kind, members }) =>
          kind === 'work' && members.some((member) => member?.key === key && member.job === job),
      )
      // pg-boss gives the job to another worker when the job expires, which is after the lease.
      return !isRunning || !isLeased
    })
  }

  #workerStarts(database: Database): WorkerStart[] {
    return (database['pgboss.job'] ?? []).map(({ id, data }) => {
      const operationId = isObject(data ?? null) ? toText((data as Row)['operationId']) : ''
      const { key } = ownerOf(operationId)
      const job = toText(id).endsWith('current') ? ('current' as const) : ('old' as const)
      const row = database['idempotency_keys']?.find((other) => other['id'] === operationId)
      const isLeased = row?.['status'] === 'processing' && Number(row['lease_expires_at']) > 0
      const node = this.#initialNode(`work ${operationId}`, () =>
        this.#programs.work([operationId]),
      )
      const members: readonly Member[] = [{ key, job }]
      return {
        id: this.#context.instances.idOf({ ...NEW_INSTANCE, kind: 'work', members, node }),
        rank: RANK.work,
        label: `a worker takes the ${job} job of ${nameOfKey(key)}`,
        skipsNoOps: false,
        key,
        job,
        isLeased,
      }
    })
  }

  #maintenance(kind: (typeof MAINTENANCE)[number]): Start {
    const cached = this.#maintenanceStarts.get(kind)
    if (cached !== undefined) return cached
    const node = this.#initialNode(kind, () => this.#programs[kind])
    const rank = kind === 'reap' ? NEVER : RANK[kind]
    const id = this.#context.instances.idOf({ ...NEW_INSTANCE, kind, members: [], node })
    const start = { id, rank, label: `${kind} starts`, skipsNoOps: true }
    this.#maintenanceStarts.set(kind, start)
    return start
  }

  #requestsOf({ database, refusals }: State): readonly Start[] {
    const cached = this.#requestStartsByState.get(database, refusals)
    if (cached !== undefined) return cached
    const { databases, refusalSets, space } = this.#context
    const requests = findRequests(space, databases.valueOf(database), refusalSets.valueOf(refusals))
    const starts = requests.map((request) => this.#requestStart(request))
    return this.#requestStartsByState.set(database, refusals, starts)
  }

  #requestStart({ kind, key, request, isWanted }: PossibleRequest): Start {
    const node = this.#initialNode(`${kind} ${key}`, () => this.#programs.send([request]))
    const members: readonly Member[] = [{ key, job: null }]
    return {
      id: this.#context.instances.idOf({ ...NEW_INSTANCE, kind: 'send', members, node }),
      rank: isWanted ? RANK.send : NEVER,
      label: `a client (${kind}) with ${nameOfKey(key)}`,
      skipsNoOps: false,
    }
  }

  #initialNode(name: string, program: () => Program): number {
    const cached = this.#initialNodes.get(name)
    if (cached !== undefined) return cached
    throw new NotComputedYet(async () => {
      const { id } = await this.#automaton.begin(name, program())
      this.#initialNodes.set(name, id)
    })
  }
}

/** Separates the members in the name of a program. */
export const AND = ' and '
