// The programs that may begin in a state: a worker for each job that it can have, maintenance, and requests of clients.
import type { Automaton, Program } from '../programs/automaton.ts'
import { keyOfName, nameOfKey, ownerOf, REFUNDED_PAYMENT_ID } from '../programs/ids.ts'
import type { Product } from '../programs/product.ts'
import { programsOf, type Programs, type Sent } from '../programs/programs.ts'
import type { Database } from '../store/database.ts'
import { inWords, isObject, type Row } from '../store/rows.ts'
import { IDLE, isMaintenance, type Instance } from './instance.ts'
import { Missing } from './missing.ts'
import { Pairs } from './pairs.ts'
import type { Parts } from './parts.ts'
import { AMOUNT_MINOR, REFUND_MINOR } from './space.ts'
import type { State } from './state.ts'
import { NEVER, RANK } from './move.ts'

export interface Start {
  /** The instance that begins. */
  readonly id: number
  readonly rank: number
  readonly label: string
  /** Whether it goes on at once where there is nothing for it to do. */
  readonly isPassing: boolean
}

interface WorkerStart extends Start {
  readonly key: number
  readonly job: 'current' | 'old'
  /** Whether its operation is leased. */
  readonly isLeased: boolean
}

const MAINTENANCE = ['sweep', 'reap', 'check'] as const

export class Starts {
  readonly #programs: Programs
  readonly #automaton: Automaton
  readonly #parts: Parts
  readonly #roots = new Map<string, number>()
  readonly #workers = new Map<number, readonly WorkerStart[]>()
  readonly #maintenances = new Map<string, Start>()
  readonly #requests = new Pairs<readonly Start[]>()

  constructor(product: Product, automaton: Automaton, parts: Parts) {
    this.#programs = programsOf(product, parts.space)
    this.#automaton = automaton
    this.#parts = parts
  }

  /** @throws Missing when a program has not been run before. */
  find(state: State, running: readonly Instance[]): Start[] {
    const { space } = this.#parts
    const count = (isCounted: (instance: Instance) => boolean) => running.filter(isCounted).length
    const found: Start[] = []
    if (count(({ kind }) => kind === 'work') < space.workers) {
      found.push(...this.#workersOf(state, running))
    }
    if (count(isMaintenance) < space.maintenance) {
      for (const kind of MAINTENANCE) found.push(this.#maintenance(kind))
    }
    if (count(({ kind }) => kind === 'send') < space.requests) {
      found.push(...this.#requestsOf(state))
    }
    return found
  }

  #workersOf({ database }: State, running: readonly Instance[]): WorkerStart[] {
    const known = this.#workers.get(database)
    const starts = known ?? this.#workerStarts(this.#parts.databases.valueOf(database))
    if (known === undefined) this.#workers.set(database, starts)
    return starts.filter(({ key, job, isLeased }) => {
      const isTaken = running.some(
        (one) => one.kind === 'work' && one.key === key && one.job === job,
      )
      // pg-boss gives a job to somebody else when it has expired, which is after the lease.
      return !isTaken || !isLeased
    })
  }

  #workerStarts(database: Database): WorkerStart[] {
    return (database['pgboss.job'] ?? []).map(({ id, data }) => {
      const operationId = isObject(data ?? null) ? inWords((data as Row)['operationId']) : ''
      const { key } = ownerOf(operationId)
      const job = inWords(id).endsWith('current') ? 'current' : 'old'
      const row = database['idempotency_keys']?.find((other) => other['id'] === operationId)
      const isLeased = row?.['status'] === 'processing' && Number(row['lease_expires_at']) > 0
      const node = this.#root(`work ${operationId}`, () => this.#programs.work(operationId))
      return {
        id: this.#parts.instances.idOf({ ...IDLE, kind: 'work', key, job, node }),
        rank: RANK.work,
        label: `a worker takes the ${job} job of ${nameOfKey(key)}`,
        isPassing: false,
        key,
        job,
        isLeased,
      }
    })
  }

  #maintenance(kind: (typeof MAINTENANCE)[number]): Start {
    const known = this.#maintenances.get(kind)
    if (known !== undefined) return known
    const node = this.#root(kind, () => this.#programs[kind])
    const rank = kind === 'reap' ? NEVER : RANK[kind]
    const id = this.#parts.instances.idOf({ ...IDLE, kind, key: -1, node })
    const start = { id, rank, label: `${kind} begins`, isPassing: true }
    this.#maintenances.set(kind, start)
    return start
  }

  #requestsOf({ database, told }: State): readonly Start[] {
    const known = this.#requests.get(database, told)
    if (known !== undefined) return known
    const { databases, tolds, space } = this.#parts
    const keys = Array.from({ length: space.keys }, (_, key) => key)
    const value = databases.valueOf(database)
    const refusals = tolds.valueOf(told)
    const starts = keys.flatMap((key) =>
      this.#requestStarts(value, refusals[key] === 'refused', key),
    )
    return this.#requests.set(database, told, starts)
  }

  #requestStarts(database: Database, isRefused: boolean, key: number): Start[] {
    const row = rowOfKey(database, key)
    // A key that has been forgotten as often as it may be is used no more.
    if (row === undefined && livesOf(database, key) >= this.#parts.space.lives) return []
    const goesOn = row === undefined ? !isRefused : row['status'] === 'failed_retryable'
    return this.#requestsFor(key, row !== undefined).map(([name, sent]) => {
      const node = this.#root(`${name} ${key}`, () => this.#programs.send(sent))
      return {
        id: this.#parts.instances.idOf({ ...IDLE, kind: 'send', key, node }),
        rank: name === 'send' && goesOn ? RANK.send : NEVER,
        label: `a client (${name}) of ${nameOfKey(key)}`,
        isPassing: false,
      }
    })
  }

  #requestsFor(key: number, isReserved: boolean): (readonly [string, Sent])[] {
    const { operation, misuses } = this.#parts.space
    const isRefund = operation === 'refund.create'
    const sent = {
      key: nameOfKey(key),
      amountMinor: isRefund ? REFUND_MINOR : AMOUNT_MINOR,
      ...(isRefund ? { paymentId: REFUNDED_PAYMENT_ID } : {}),
    }
    if (!isReserved) return [['send', sent]]
    const misuse = [MISUSE, { ...sent, amountMinor: sent.amountMinor - 1 }] as const
    return [['send', sent], ['send again', { ...sent, isSeen: true }], ...(misuses ? [misuse] : [])]
  }

  #root(name: string, program: () => Program): number {
    const known = this.#roots.get(name)
    if (known !== undefined) return known
    throw new Missing(async () => {
      const { id } = await this.#automaton.begin(name, program())
      this.#roots.set(name, id)
    })
  }
}

/** Another request under a key that is used. */
export const MISUSE = 'misuse'

export const rowOfKey = (database: Database, key: number): Row | undefined =>
  database['idempotency_keys']?.find((row) => keyOfName(inWords(row['key'])) === key)

/** How often a key has been reserved: what it has made stays. */
export function livesOf(database: Database, key: number): number {
  const made = [...(database['payments'] ?? []), ...(database['refunds'] ?? [])]
  const own = made.filter(
    ({ id }) => id !== REFUNDED_PAYMENT_ID && ownerOf(inWords(id)).key === key,
  )
  return own.length
}
