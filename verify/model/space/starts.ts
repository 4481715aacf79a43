// Finds the programs that may start in a state: a worker for each available job and each event that is
// not applied, maintenance, and client requests. Two jobs, or two requests, may share a process.
import {
  isOfClient,
  nameOfKey,
  ownerOf,
  paymentIdOf,
  REFUNDED_PAYMENT_ID,
} from '../programs/ids.ts'
import { type ClientRequest, type Programs, programsOf } from '../programs/programs.ts'
import { type Database, isObject, type Row, toText } from '../store/rows.ts'
import type { Automaton, Program } from '../programs/automaton.ts'
import type { Product } from '../programs/product.ts'
import { undoableOperations } from '../../../src/domain/idempotency/idempotency-key.ts'
import type { Refusals, SearchContext } from './search-context.ts'
import { livesOf, rowOfKey } from './canonical.ts'
import { AMOUNT_MINOR, REFUND_MINOR, type Space } from './space.ts'
import { type Instance, isMaintenance, type Member, NEW_INSTANCE } from './instance.ts'
import { NEVER, NotComputedYet, PairMap, RANK, type State } from './state.ts'

/** A request that a client may send. */
interface PossibleRequest {
  readonly kind: 'send' | 'send again' | 'send spelled out' | typeof MISUSE
  readonly key: number
  readonly request: ClientRequest
  /** Whether a client that has no final answer yet sends it. */
  readonly isWanted: boolean
}

/** A different request under a used key. */
export const MISUSE = 'misuse'

function findRequests(space: Space, database: Database, refusals: Refusals): PossibleRequest[] {
  const keys = Array.from({ length: space.keys }, (_, key) => key)
  const requests = keys.flatMap((key) => requestsWith(space, key, database, refusals))
  if (!space.refundsPart) return requests
  // Retries without need are left to the other spaces, so that this one is small enough.
  return [...requests.filter(({ isWanted }) => isWanted), ...partialRefunds(space, database)]
}

/** A client may refund a part of the first payment once it is captured, and retries a failed refund. */
function partialRefunds({ keys: key }: Space, database: Database): PossibleRequest[] {
  const row = rowOfKey(database, key)
  const [payment] = database['payments'] ?? []
  if (payment?.['status'] !== 'succeeded' || (row !== undefined && !isFailed(row))) return []
  const paymentId = paymentIdOf(0, 1)
  const request = { key: nameOfKey(key), amountMinor: REFUND_MINOR, paymentId }
  return [{ kind: 'send', key, request, isWanted: row !== undefined }]
}

function requestsWith(
  space: Space,
  key: number,
  database: Database,
  refusals: Refusals,
): PossibleRequest[] {
  const row = rowOfKey(database, key)
  // After its last life a key is not used again.
  if (row === undefined && livesOf(database, key) >= space.lives) return []
  const isWanted =
    row === undefined
      ? refusals[key] === undefined
      : isFailed(row) && refusals[key] !== 'superseded'
  const request = requestFor(space, key)
  const first: PossibleRequest = { kind: 'send', key, request, isWanted }
  if (row === undefined) return [first]
  const other = { ...request, amountMinor: request.amountMinor - 1 }
  const again = { ...request, isCachedAsUsed: true }
  const spelledOut = { ...request, isSpelledOut: true }
  return [
    first,
    { kind: 'send again', key, request: again, isWanted: false },
    ...(space.respells
      ? [{ kind: 'send spelled out', key, request: spelledOut, isWanted: false } as const]
      : []),
    ...(space.misuses ? [{ kind: MISUSE, key, request: other, isWanted: false } as const] : []),
  ]
}

/** A canceled operation is not reopened. */
const isFailed = ({ status, cancellation }: Row): boolean =>
  status === 'failed_retryable' && cancellation === null

function requestFor(
  { operation, refusedKeys, oneReference, fallback }: Space,
  key: number,
): ClientRequest {
  const name = oneReference
    ? { key: nameOfKey(key), reference: REFERENCE }
    : { key: nameOfKey(key) }
  if (operation === 'refund.create') {
    return { ...name, amountMinor: REFUND_MINOR, paymentId: REFUNDED_PAYMENT_ID }
  }
  const request = { ...name, amountMinor: AMOUNT_MINOR, ...(fallback && { hasFallback: true }) }
  return refusedKeys.includes(key) ? { ...request, customer: UNKNOWN_CUSTOMER } : request
}

const REFERENCE = 'order'
const UNKNOWN_CUSTOMER = 'cus_of_another_tenant'

export interface Start {
  /** Number of the instance that starts. */
  readonly id: number
  readonly rank: number
  readonly label: string
  /** Whether its requests without effect are skipped. */
  readonly skipsNoOps: boolean
}

interface Job extends Member {
  readonly operationId: string
  /** Whether the lease of its operation is still running. */
  readonly isLeased: boolean
}

interface WorkerStart extends Start {
  readonly jobs: readonly Job[]
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
    if (space.cancels && count(({ kind }) => kind === 'cancel') === 0) {
      starts.push(...this.#cancellationsOf(state))
    }
    if (count(({ kind }) => kind === 'apply') < space.appliers) {
      starts.push(...this.#eventsOf(state))
    }
    return starts
  }

  #workersOf({ database }: State, running: readonly Instance[]): WorkerStart[] {
    const cached = this.#workerStartsByDatabase.get(database)
    const starts = cached ?? this.#workerStarts(this.#context.databases.valueOf(database))
    if (cached === undefined) this.#workerStartsByDatabase.set(database, starts)
    return starts.filter(({ jobs }) => jobs.every((job) => isAvailable(job, running)))
  }

  #workerStarts(database: Database): WorkerStart[] {
    // A worker owns an operation once, however many jobs the operation has.
    const mayShare = (one: Job, other: Job) => one.key !== other.key
    return this.#together(jobsIn(database), mayShare).map((jobs) => {
      const operationIds = jobs.map(({ operationId }) => operationId)
      const node = this.#initialNode(`work ${operationIds.join(AND)}`, () =>
        this.#programs.work(operationIds),
      )
      const members = jobs.map(({ key, job }): Member => ({ key, job }))
      const names = members.map(({ key, job }) => `the ${job} job of ${nameOfKey(key)}`)
      return {
        id: this.#context.instances.idOf({ ...NEW_INSTANCE, kind: 'work', members, node }),
        rank: jobs.length === 1 ? rankOfWork(jobs) : NEVER,
        label: `a worker takes ${names.join(AND)}`,
        skipsNoOps: false,
        jobs,
      }
    })
  }

  /** Each alone, and with two members each pair that may share a process. */
  #together<Each>(
    all: readonly Each[],
    mayShare: (one: Each, other: Each) => boolean,
  ): (readonly Each[])[] {
    const alone = all.map((one) => [one])
    if (this.#context.space.members === 1) return alone
    const pairs = all.flatMap((one, index) =>
      all.slice(index).map((other) => [one, other] as const),
    )
    return [...alone, ...pairs.filter(([one, other]) => mayShare(one, other))]
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
    // Requests share a transaction if none of their keys, or each of them, is looked up first.
    const mayShare = (one: PossibleRequest, other: PossibleRequest) =>
      (one.key !== other.key || space.repeats) &&
      one.request.isCachedAsUsed === other.request.isCachedAsUsed
    const starts = this.#together(requests, mayShare).map((sent) => this.#requestStart(sent))
    return this.#requestStartsByState.set(database, refusals, starts)
  }

  #requestStart(sent: readonly PossibleRequest[]): Start {
    const name = sent.map(({ kind, key }) => `${kind} ${key}`).join(AND)
    const node = this.#initialNode(name, () =>
      this.#programs.send(sent.map(({ request }) => request)),
    )
    const members = sent.map(({ key }): Member => ({ key, job: null }))
    const names = sent.map(({ kind, key }) => `a client (${kind}) with ${nameOfKey(key)}`)
    return {
      id: this.#context.instances.idOf({ ...NEW_INSTANCE, kind: 'send', members, node }),
      rank: sent.every(({ isWanted }) => isWanted) && sent.length === 1 ? RANK.send : NEVER,
      label: names.join(AND),
      skipsNoOps: false,
    }
  }

  /** Each operation may be canceled that has not ended, or that an event can undo. */
  #cancellationsOf({ database }: State): Start[] {
    const { databases, space, instances } = this.#context
    const { idempotency_keys: rows = [] } = databases.valueOf(database)
    const isUndoing = space.appliers > 0
    const cancelable = isUndoing ? rows.filter(isCancelable) : rows.filter(isUnfinished)
    return cancelable.map(({ id }) => {
      const operationId = toText(id)
      const { key } = ownerOf(operationId)
      const node = this.#initialNode(`cancel ${operationId}`, () =>
        isUndoing ? this.#programs.cancel(nameOfKey(key)) : this.#programs.prevent(operationId),
      )
      const members = [{ key, job: null }]
      return {
        id: instances.idOf({ ...NEW_INSTANCE, kind: 'cancel', members, node }),
        rank: NEVER,
        label: `a client cancels ${nameOfKey(key)}`,
        skipsNoOps: !isUndoing,
      }
    })
  }

  /** A worker may take each event that is not applied yet. */
  #eventsOf({ database }: State): Start[] {
    const { databases, instances } = this.#context
    const { provider_events: events = [] } = databases.valueOf(database)
    const pending = events.filter(({ status }) => status === 'pending')
    return pending.map(({ object_id }) => {
      const operationId = toText(object_id)
      const { key } = ownerOf(operationId)
      const node = this.#initialNode(`apply ${operationId}`, () =>
        this.#programs.apply(operationId),
      )
      const members = [{ key, job: null }]
      return {
        id: instances.idOf({ ...NEW_INSTANCE, kind: 'apply', members, node }),
        rank: RANK.apply,
        label: `a worker takes the event that cancels ${nameOfKey(key)}`,
        skipsNoOps: false,
      }
    })
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

function jobsIn(database: Database): Job[] {
  return (database['atomic_jobs.job'] ?? []).map(({ id, data }) => {
    const operationId = isObject(data ?? null) ? toText((data as Row)['operationId']) : ''
    const { key } = ownerOf(operationId)
    const job = toText(id).endsWith('current') ? 'current' : 'old'
    const row = database['idempotency_keys']?.find((other) => other['id'] === operationId)
    const isLeased = row?.['status'] === 'processing' && Number(row['lease_expires_at']) > 0
    return { key, job, operationId, isLeased }
  })
}

/** pg-boss gives a job to another worker when the job expires, which is after the lease. */
function isAvailable({ key, job, isLeased }: Job, running: readonly Instance[]): boolean {
  const isOwn = (member: Member | null) => member?.key === key && member.job === job
  return !isLeased || !running.some(({ kind, members }) => kind === 'work' && members.some(isOwn))
}

const rankOfWork = ([first]: readonly Job[]): number =>
  first?.job === 'old' ? RANK.oldWork : RANK.work

const isUnfinished = ({ status }: Row): boolean => status !== 'completed'

/** Of the keys of clients, those that are not canceled, and that a cancellation changes. */
function isCancelable(row: Row): boolean {
  const { key } = ownerOf(toText(row['id']))
  const isUndoable = undoableOperations.some((name) => name === row['operation'])
  return isOfClient(key) && row['cancellation'] === null && (isUnfinished(row) || isUndoable)
}

/** Separates the members in the name of a program. */
export const AND = ' and '
