// What may come of a statement, and of the end of a transaction: it is executed, it waits, it sees what was there long
// before, or its connection is lost before it or behind it.
import { keyOfName, namesOperation } from '../programs/ids.ts'
import type { Answer, Request, StatementRequest } from '../programs/requests.ts'
import { addWork, NO_WORK, type Database, type Work } from '../store/database.ts'
import { executeStatement, type Executed } from '../store/memory-store.ts'
import { inWords } from '../store/rows.ts'
import { canonicalWork } from './canonical.ts'
import type { Consequences, StepParts } from './consequences.ts'
import { PLAIN, WITHOUT, type Effect, type Place, type Told } from './effect.ts'
import type { Frames } from './frames.ts'
import {
  epochOf,
  OWN_STATEMENT,
  parametersOf,
  withWork,
  workOf,
  type Instance,
} from './instance.ts'

export class StatementSteps {
  readonly #parts: StepParts
  readonly #consequences: Consequences
  readonly #frames: Frames

  constructor(parts: StepParts, consequences: Consequences, frames: Frames) {
    this.#parts = parts
    this.#consequences = consequences
    this.#frames = frames
  }

  async find(instance: Instance, place: Place, request: StatementRequest): Promise<Effect[]> {
    const executed = this.execute(instance, place, request)
    if (executed.kind === 'blocked') return this.#wait(instance, place, request, executed)
    const alone = await this.executed(instance, place, request, executed, false)
    const beside = this.brokenBeside(instance, place, request, executed)
    const plain = { ...alone, broken: [...alone.broken, ...beside] }
    const lost = await this.#lose(instance, place, request, executed)
    return [plain, ...this.#beginEarly(instance, place, request), ...lost]
  }

  execute(
    instance: Instance,
    { database, others }: Place,
    request: StatementRequest,
    current = this.#parts.databases.valueOf(database),
  ): Executed {
    const snapshot =
      instance.snapshot < 0 ? current : this.#parts.databases.valueOf(instance.snapshot)
    const own = workOf(instance, request.transaction ?? OWN_STATEMENT) ?? NO_WORK
    const parameters = parametersOf(instance, request.parameters)
    const view = { snapshot, current, own, others }
    return executeStatement(this.#parts.schema, view, { text: request.text, parameters })
  }

  async executed(
    instance: Instance,
    place: Place,
    request: StatementRequest,
    executed: Exclude<Executed, { kind: 'blocked' }>,
    isLost: boolean,
  ): Promise<Effect> {
    const { transaction } = request
    const begun = { ...withWork(instance, OWN_STATEMENT, undefined), snapshot: -1 }
    const lost = {
      label: 'loses the answer',
      act: 'done_unheard',
      cost: 'losses',
      isPlain: false,
    } as const
    const told: Told = isLost ? lost : { label: labelOf(request, executed), ...PLAIN }
    if (executed.kind === 'error') {
      const { code, message } = executed
      const rolledBack = transaction === null ? begun : withWork(begun, transaction, NO_WORK)
      return await this.#consequences.told(
        rolledBack,
        place,
        { kind: 'error', code, message },
        told,
      )
    }
    const work = canonicalWork(executed.work)
    const broken = this.#brokenByWrite(instance, place, work)
    if (transaction !== null) {
      const own = addWork(workOf(begun, transaction) ?? NO_WORK, work)
      const after = withWork(begun, transaction, own)
      return await this.#consequences.answered(after, place, request, executed, { ...told, broken })
    }
    const committed = this.#consequences.commit(begun, place, executed.work)
    if (!isLost) {
      return await this.#consequences.answered(
        committed.instance,
        committed.place,
        request,
        executed,
        {
          ...told,
          ...committed.changed,
          broken,
        },
      )
    }
    const answer = { kind: 'connection_lost' } as const
    const more = { ...told, ...committed.changed, broken }
    return await this.#consequences.told(committed.instance, committed.place, answer, more)
  }

  async end(
    instance: Instance,
    place: Place,
    { kind, transaction }: { readonly kind: 'commit' | 'rollback'; readonly transaction: number },
  ): Promise<Effect[]> {
    const work = workOf(instance, transaction) ?? NO_WORK
    const ended = withWork(instance, transaction, undefined)
    const done = { kind: 'done' } as const
    const plain = { label: kind, ...PLAIN }
    if (kind === 'rollback') return [await this.#consequences.told(ended, place, done, plain)]
    const { instance: after, place: at, changed } = this.#consequences.commit(ended, place, work)
    const lost = { kind: 'connection_lost' } as const
    const told = { cost: 'losses', isPlain: false } as const
    return [
      await this.#consequences.told(after, at, done, { ...plain, ...changed }),
      await this.#consequences.told(after, at, lost, {
        ...told,
        label: 'commit, its answer lost',
        act: 'end_unheard',
        ...changed,
      }),
      await this.#consequences.told(ended, place, lost, {
        ...told,
        label: 'loses the connection',
        act: 'end_not_done',
      }),
    ]
  }

  /**
   * Goes on with a program as long as what it asks for finds nothing and changes nothing: whatever is there
   * later, another run of it finds. Undefined when it has come to its end so.
   */
  async pass(instance: Instance, place: Place): Promise<Instance | undefined> {
    let passing = instance
    for (;;) {
      const { pending } = this.#parts.automaton.nodeOf(passing.node)
      if (pending === undefined || pending.kind === 'call') return passing
      const answer = this.#emptyAnswer(passing, place, pending)
      if (answer === undefined) return passing
      const effect = await this.#consequences.told(passing, place, answer, { label: '', ...PLAIN })
      if (effect.after === undefined) return undefined
      passing = effect.after
    }
  }

  #emptyAnswer(instance: Instance, place: Place, request: Request): Answer | undefined {
    if (request.kind === 'call') return undefined
    if (request.kind !== 'statement') {
      return workOf(instance, request.transaction) === undefined ? { kind: 'done' } : undefined
    }
    if (instance.snapshot >= 0) return undefined
    const executed = this.execute(instance, place, request)
    if (executed.kind !== 'result' || executed.work.changes.length > 0) return undefined
    const { rows, count } = executed.result
    const finds = rows.some((row) =>
      Object.values(row).some((value) => value !== null && value !== 0),
    )
    return isRead(request) && finds ? undefined : { kind: 'rows', rows, count }
  }

  /** Whoever has to wait has begun: what it sees is settled, and what it has locked by then it keeps. */
  #wait(
    instance: Instance,
    place: Place,
    request: StatementRequest,
    { work }: Extract<Executed, { kind: 'blocked' }>,
  ): Effect[] {
    const transaction = request.transaction ?? OWN_STATEMENT
    const snapshot = instance.snapshot < 0 ? place.database : instance.snapshot
    const locked = addWork(workOf(instance, transaction) ?? NO_WORK, canonicalWork(work))
    const after = { ...withWork(instance, transaction, locked), snapshot }
    if (JSON.stringify(after) === JSON.stringify(instance)) return []
    const { database, provider } = place
    return [{ database, provider, after, ...WITHOUT, ...PLAIN, ...WAITS }]
  }

  #beginEarly(instance: Instance, place: Place, request: StatementRequest): Effect[] {
    const { database, provider } = place
    if (instance.snapshot >= 0 || request.transaction !== null) return []
    const after = { ...instance, snapshot: database }
    const told = {
      label: 'begins its statement',
      act: 'begins',
      cost: 'early',
      isPlain: false,
    } as const
    return [{ database, provider, after, ...WITHOUT, ...told }]
  }

  async #lose(
    instance: Instance,
    place: Place,
    request: StatementRequest,
    executed: Exclude<Executed, { kind: 'blocked' }>,
  ): Promise<Effect[]> {
    const begun = { ...withWork(instance, OWN_STATEMENT, undefined), snapshot: -1 }
    const told = {
      label: 'loses the connection',
      act: 'not_done',
      cost: 'losses',
      isPlain: false,
    } as const
    const gone =
      request.transaction === null ? begun : withWork(begun, request.transaction, undefined)
    const unsent = await this.#consequences.told(gone, place, { kind: 'connection_lost' }, told)
    const isWrite = executed.kind === 'result' && executed.work.changes.length > 0
    if (!isWrite || request.transaction !== null) return [unsent]
    return [unsent, await this.executed(instance, place, request, executed, true)]
  }

  /** Nobody writes to an operation whose lease has passed on. */
  #brokenByWrite(instance: Instance, { database }: Place, { changes }: Work): string[] {
    const keys = this.#parts.databases.valueOf(database)['idempotency_keys'] ?? []
    return changes.flatMap(({ table, row }) => {
      if (table !== 'idempotency_keys' || row === null) return []
      const own = epochOf(instance, keyOfName(inWords(row['key'])))
      const before = keys.find(({ id }) => id === row['id'])
      const epoch = Number(before?.['lease_epoch'])
      const isStale = own !== undefined && own < epoch
      const isLeased = before?.['status'] === 'processing' && Number(before['lease_expires_at']) > 0
      if (isStale) return ['6: an owner writes whose lease has passed on']
      const isClaim = row['status'] === 'processing' && (own !== epoch || !isLeased)
      const isNew = Number(row['lease_epoch']) > epoch
      if (isClaim && before !== undefined && before['status'] !== row['status'] && !isNew) {
        return ['6: an operation is claimed under the epoch of the owner before']
      }
      return isLeased && own !== epoch ? ['6: somebody writes while another one has the lease'] : []
    })
  }

  /** What the statement does beside the rows of other keys, where those are rows of their own. */
  brokenBeside(
    instance: Instance,
    place: Place,
    request: StatementRequest,
    alone: Executed,
  ): string[] {
    const { operation, keys } = this.#parts.space
    if (operation !== 'payment.create' || keys > 1 || instance.snapshot >= 0) return []
    const execute = (store: Database) => this.execute(instance, place, request, store)
    const isOfOne = instance.key >= 0 || namesOperation(request.parameters)
    return this.#frames.check(place.database, isOfOne, execute, alone)
  }
}

const WAITS = { label: 'waits for a lock', act: 'waits' } as const

export const isRead = ({ text }: StatementRequest): boolean =>
  !/\b(insert|update|delete)\b/.test(text)

/** The statement by its first words, and whether it has found anything. */
function labelOf({ text }: StatementRequest, executed: Executed): string {
  const [, verb = '', table = ''] =
    /\b(update|insert into|delete from|from) "?([\w.]+)/.exec(text.replaceAll('"', '')) ?? []
  const what = `${verb} ${table}`
  if (executed.kind === 'error') return `${what}: error ${executed.code}`
  return executed.kind === 'result' && executed.result.count > 0 ? what : `${what}: nothing`
}
