// Builds the effect of a step: the store after a commit, with canonical names for new rows; the
// next node of the program after the answer; and, when a worker ended, what pg-boss does with its
// job.
import type { Automaton, Node } from '../programs/automaton.ts'
import type { MemberResult } from '../programs/run.ts'
import { type Database, isObject, type Row, toText, type Value, type Work } from '../store/rows.ts'
import {
  GENERATED_ID_PREFIX,
  keyOfName,
  operationIdOf,
  ownerOf,
  paymentIdOf,
  refundIdOf,
} from '../programs/ids.ts'
import type { Answer, StatementRequest } from '../programs/requests.ts'
import { commit as committed, type ExecutionResult } from '../store/memory-store.ts'
import type { Schema } from '../store/schema.ts'
import { afterEnd, afterNewEpoch, type Instance, type Member, receiveRows } from './instance.ts'
import type { Budget, Space } from './space.ts'
import { canonicalDatabase, currentJobOf, oldJobOf } from './canonical.ts'
import type { Interner } from './state.ts'
import type { Provider } from './provider.ts'

/** What happens to the request of a program. */
type Act =
  /** It is executed and answered. */
  | 'executed'
  /** The connection is lost before or after its execution. */
  | 'lost'
  /** The statement begins, and is executed later. */
  | 'waits'
  /** The program crashes. */
  | 'crash'

/** The effect of one step. */
export interface Effect {
  readonly label: string
  readonly act: Act
  readonly database: number
  /** `UNCHANGED` if the provider's state stays the same. */
  readonly provider: number
  /** The instance afterwards; undefined if it ended. */
  readonly after: Instance | undefined
  /** The node at which the program ended, unless it crashed. */
  readonly ended: Node | undefined
  /** The members that ended, with their results. */
  readonly results: readonly MemberResult[]
  /** For jobs that ended: the store before pg-boss ended them. */
  readonly databaseWithJob?: number
  readonly keysWithNewEpoch: readonly number[]
  readonly keysWithNewJob: readonly number[]
  readonly cost: keyof Budget | undefined
  /** Whether no fault is involved. */
  readonly isFaultFree: boolean
  /** Violations of invariants by the step itself. */
  readonly violations: readonly string[]
}

/** The part of an effect that does not follow from the answer. */
export type EffectSummary = Pick<Effect, 'label' | 'act' | 'cost' | 'isFaultFree'>

/** Stands for the provider's state before the step. */
export const UNCHANGED = -1

/** The state that an instance shares with the other instances. */
export interface SharedState {
  readonly database: number
  readonly provider: number
  /** The work of the other instances' open transactions. */
  readonly others: readonly Work[]
}

/** The default: executed and answered, without a fault. */
export const FAULT_FREE = { act: 'executed', cost: undefined, isFaultFree: true } as const
/** No further consequences. */
export const NO_CONSEQUENCES = {
  keysWithNewEpoch: [],
  keysWithNewJob: [],
  ended: undefined,
  results: [],
  violations: [],
} as const

/** Two consecutive effects as one transition. */
export function joinEffects(first: Effect, second: Effect): Effect {
  return {
    ...second,
    label: `${first.label}, ${second.label}`,
    act: second.cost === undefined ? first.act : second.act,
    results: [...first.results, ...second.results],
    keysWithNewEpoch: [...first.keysWithNewEpoch, ...second.keysWithNewEpoch],
    keysWithNewJob: [...first.keysWithNewJob, ...second.keysWithNewJob],
    cost: first.cost ?? second.cost,
    isFaultFree: first.isFaultFree && second.isFaultFree,
    violations: [...first.violations, ...second.violations],
  }
}

/** What the steps of programs need. */
export interface StepContext {
  readonly schema: Schema
  readonly space: Space
  readonly automaton: Automaton
  readonly databases: Interner<Database>
  readonly providers: Interner<Provider>
}

export class EffectBuilder {
  readonly #context: StepContext

  constructor(context: StepContext) {
    this.#context = context
  }

  async afterAnswer(
    instance: Instance,
    shared: SharedState,
    answer: Answer,
    summary: EffectSummary & Partial<Effect>,
  ): Promise<Effect> {
    const before = this.#context.automaton.nodeOf(instance.node)
    const received = instance.isLate ? { ...answer, late: true as const } : answer
    const next = this.#context.automaton.next(before, received)
    const node = next instanceof Promise ? await next : next
    const newErrors = node.unexpectedErrors.filter(
      (what) => !before.unexpectedErrors.includes(what),
    )
    const violations = [...(summary.violations ?? []), ...newErrors.map((what) => `bug: ${what}`)]
    const { database: databaseWithJob, provider } = shared
    const results = node.results.slice(before.results.length)
    const database = this.#deleteJobs(instance, databaseWithJob, results)
    const effect = {
      ...NO_CONSEQUENCES,
      database,
      ...(database === databaseWithJob ? {} : { databaseWithJob }),
      provider,
      results,
      ...summary,
      violations,
    }
    if (node.pending === undefined) return { ...effect, after: undefined, ended: node }
    const ended = results.map(({ member }) => member)
    return { ...effect, after: afterEnd({ ...instance, isLate: false, node: node.id }, ended) }
  }

  async afterRows(
    instance: Instance,
    shared: SharedState,
    request: StatementRequest,
    { result }: Extract<ExecutionResult, { kind: 'result' }>,
    summary: EffectSummary & Partial<Effect>,
  ): Promise<Effect> {
    const { instance: receiver, rows } = receiveRows(instance, result.rows, request.parameters)
    const answer = { kind: 'rows', rows, count: result.count } as const
    const { keysWithNewEpoch = [] } = summary
    const owner = keysWithNewEpoch.reduce((one, key) => afterNewEpoch(one, key, true), receiver)
    return await this.afterAnswer(owner, shared, answer, summary)
  }

  commit(instance: Instance, shared: SharedState, work: Work) {
    const before = this.#context.databases.valueOf(shared.database)
    const afterCommit = committed(this.#context.schema, before, work)
    if (afterCommit === before) return { instance, shared, changed: {} }
    const { names, database: namedDatabase } = this.#nameGeneratedIds(instance, afterCommit)
    const { database, keysWithNewEpoch, keysWithNewJob } = this.#canonical(namedDatabase, before)
    const own = keysWithNewEpoch.reduce((one, key) => afterNewEpoch(one, key, true), {
      ...instance,
      names,
    })
    return {
      instance: own,
      shared: { ...shared, database: this.#context.databases.idOf(database) },
      changed: { keysWithNewEpoch, keysWithNewJob },
    }
  }

  #canonical(after: Database, before: Database) {
    const attemptsMax = this.#context.space.tries.retries + 2
    return canonicalDatabase(this.#context.schema, after, before, attemptsMax)
  }

  /** Names the rows that requests inserted after their keys and the lives of the keys. */
  #nameGeneratedIds(instance: Instance, database: Database): Named {
    let named: Named = { names: instance.names, database }
    for (;;) {
      const reservedRow = named.database['idempotency_keys']?.find(({ id }) =>
        toText(id).startsWith(GENERATED_ID_PREFIX),
      )
      if (reservedRow === undefined) return named
      named = nameReservation(named, reservedRow)
    }
  }

  /** pg-boss deletes the jobs that it was told to, even if another worker has them by now. */
  #deleteJobs(instance: Instance, database: number, results: readonly MemberResult[]): number {
    const ended = endedJobs(instance, results)
    if (ended.length === 0) return database
    const before = this.#context.databases.valueOf(database)
    const jobs = before['atomic_jobs.job'] ?? []
    const left = jobs.filter(({ id, data }) => {
      const operationId = isObject(data ?? null) ? toText((data as Row)['operationId']) : ''
      const { key } = ownerOf(operationId)
      return !ended.some((member) => member.key === key && id === jobOf(member, operationId))
    })
    return this.#context.databases.idOf({ ...before, 'atomic_jobs.job': left })
  }
}

/** The members of a worker whose jobs pg-boss deletes. */
function endedJobs(
  { kind, members }: Instance,
  results: readonly MemberResult[],
): readonly Member[] {
  if (kind !== 'work') return []
  return results.flatMap(({ member, result }) =>
    DELETING.has(result) ? (members[member] ?? []) : [],
  )
}

const DELETING = new Set<Value>(['completed', 'deadletter'])

const jobOf = ({ job }: Member, operationId: string): string =>
  job === 'current' ? currentJobOf(operationId) : oldJobOf(operationId)

/** The generated ids that became rows, with their canonical names, and the renamed store. */
interface Named {
  readonly names: Instance['names']
  readonly database: Database
}

function nameReservation({ names, database }: Named, reservedRow: Row): Named {
  const key = keyOfName(toText(reservedRow['key']))
  const resources = database[reservedRow['refund_id'] === null ? 'payments' : 'refunds'] ?? []
  const own = nextLife(key, resources, reservedRow)
  const text = own.reduce(
    (renamed, [drawn, id]) => renamed.replaceAll(drawn, id),
    JSON.stringify(database),
  )
  return { names: [...names, ...own], database: JSON.parse(text) as Database }
}

function nextLife(
  key: number,
  resources: readonly { readonly [column: string]: Value }[],
  reservedRow: { readonly [column: string]: Value },
): [string, string][] {
  const ids = new Set(resources.map(({ id }) => id))
  const idOf = reservedRow['refund_id'] === null ? paymentIdOf : refundIdOf
  let life = 1
  while (ids.has(idOf(key, life))) life += 1
  const resource = reservedRow['refund_id'] === null ? 'payment_id' : 'refund_id'
  const operation: [string, string] = [toText(reservedRow['id']), operationIdOf(key, life)]
  const resourceId = toText(reservedRow[resource])
  // The cancel of a hold works on a payment that another operation created.
  if (!resourceId.startsWith(GENERATED_ID_PREFIX)) return [operation]
  return [operation, [resourceId, idOf(key, life)]]
}
