// What follows of a step: the store as a commit leaves it, with new rows under their names, what the program makes of the
// answer, and, when it has ended, what becomes of its job.
import type { Automaton, Node } from '../programs/automaton.ts'
import { keyOfName, operationIdOf, paymentIdOf, refundIdOf } from '../programs/ids.ts'
import type { Answer, StatementRequest } from '../programs/requests.ts'
import { DRAWN } from '../programs/symbols.ts'
import type { Database, Work } from '../store/database.ts'
import { commit as committed, type Executed } from '../store/memory-store.ts'
import { inWords, isObject, type Value } from '../store/rows.ts'
import type { Schema } from '../store/schema.ts'
import { canonicalDatabase, currentJobOf, oldJobOf } from './canonical.ts'
import { WITHOUT, type Effect, type Place, type Told } from './effect.ts'
import { afterRaise, tell, type Instance } from './instance.ts'
import type { Interner } from './interner.ts'
import type { Provider } from './provider.ts'
import type { Space } from './space.ts'

/** What the steps of programs work with. */
export interface StepParts {
  readonly schema: Schema
  readonly space: Space
  readonly automaton: Automaton
  readonly databases: Interner<Database>
  readonly providers: Interner<Provider>
}

export class Consequences {
  readonly #parts: StepParts

  constructor(parts: StepParts) {
    this.#parts = parts
  }

  async told(
    instance: Instance,
    place: Place,
    answer: Answer,
    told: Told & Partial<Effect>,
  ): Promise<Effect> {
    const before = this.#parts.automaton.nodeOf(instance.node)
    const heard = instance.isLate ? { ...answer, late: true as const } : answer
    const next = this.#parts.automaton.next(before, heard)
    const node = next instanceof Promise ? await next : next
    const complaints = node.complaints.filter((what) => !before.complaints.includes(what))
    const broken = [...(told.broken ?? []), ...complaints.map((what) => `bug: ${what}`)]
    const { database, provider } = place
    const answered = answer.kind === 'outcome' ? answer : undefined
    const effect = { ...WITHOUT, database, provider, ...told, answer: answered, broken }
    if (node.pending !== undefined) {
      return { ...effect, after: { ...instance, isLate: false, node: node.id } }
    }
    const settled = this.#settleJob(instance, database, node)
    const unsettled = settled === database ? {} : { unsettled: database }
    return { ...effect, ...unsettled, database: settled, after: undefined, ended: node }
  }

  async answered(
    instance: Instance,
    place: Place,
    request: StatementRequest,
    { result }: Extract<Executed, { kind: 'result' }>,
    told: Told & Partial<Effect>,
  ): Promise<Effect> {
    const { instance: knowing, rows } = tell(instance, result.rows, request.parameters)
    const answer = { kind: 'rows', rows, count: result.count } as const
    const { raised = [] } = told
    const holding = raised.reduce((one, key) => afterRaise(one, key, true), knowing)
    return await this.told(holding, place, answer, told)
  }

  commit(instance: Instance, place: Place, work: Work) {
    const before = this.#parts.databases.valueOf(place.database)
    const raw = committed(this.#parts.schema, before, work)
    if (raw === before) return { instance, place, changed: {} }
    const { names, database: named } = this.#nameDrawn(instance, raw)
    const { database, raised, rejobbed } = this.#canonical(named, before)
    const own = raised.reduce((known, key) => afterRaise(known, key, true), { ...instance, names })
    return {
      instance: own,
      place: { ...place, database: this.#parts.databases.idOf(database) },
      changed: { raised, rejobbed },
    }
  }

  #canonical(after: Database, before: Database) {
    const attemptsMax = this.#parts.space.tries.retries + 2
    return canonicalDatabase(this.#parts.schema, after, before, attemptsMax)
  }

  /** Rows that a client's request has made are named by its key, and by how often that was reserved. */
  #nameDrawn(instance: Instance, database: Database) {
    const made = database['idempotency_keys']?.find(({ id }) => inWords(id).startsWith(DRAWN))
    if (made === undefined) return { names: instance.names, database }
    const key = keyOfName(inWords(made['key']))
    const resources = database[made['refund_id'] === null ? 'payments' : 'refunds'] ?? []
    const names = nextLife(key, resources, made)
    const text = names.reduce(
      (known, [drawn, id]) => known.replaceAll(drawn, id),
      JSON.stringify(database),
    )
    return { names, database: JSON.parse(text) as Database }
  }

  /** pg-boss does what it is told with the job, whoever has it by now. */
  #settleJob({ kind, key, job }: Instance, database: number, { value }: Node): number {
    const isGone = value === 'completed' || value === 'deadletter'
    if (kind !== 'work' || !isGone) return database
    const before = this.#parts.databases.valueOf(database)
    const jobs = before['pgboss.job'] ?? []
    const left = jobs.filter(({ id, data }) => {
      const operationId = isObject(data ?? null) ? String((data as never)['operationId']) : ''
      const isOwn = Number(operationId.slice(-12, -2)) === key
      const name = job === 'current' ? currentJobOf(operationId) : oldJobOf(operationId)
      return !isOwn || id !== name
    })
    return this.#parts.databases.idOf({ ...before, 'pgboss.job': left })
  }
}

function nextLife(
  key: number,
  resources: readonly { readonly [column: string]: Value }[],
  made: { readonly [column: string]: Value },
): [string, string][] {
  const ids = new Set(resources.map(({ id }) => id))
  const idOf = made['refund_id'] === null ? paymentIdOf : refundIdOf
  let life = 1
  while (ids.has(idOf(key, life))) life += 1
  const resource = made['refund_id'] === null ? 'payment_id' : 'refund_id'
  return [
    [inWords(made['id']), operationIdOf(key, life)],
    [inWords(made[resource]), idOf(key, life)],
  ]
}
