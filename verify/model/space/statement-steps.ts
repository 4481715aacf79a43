// Computes the possible effects of a statement, and of a commit or rollback: it is executed, it
// waits for a lock, it uses an old snapshot, or its connection is lost before or after the
// execution.
import { GENERATED_ID_PREFIX, keyOfName, namesOperation } from '../programs/ids.ts'
import type { Request, StatementRequest } from '../programs/requests.ts'
import type { Database, Row, Work } from '../store/rows.ts'
import { addWork, errorResultOf, jsonOf, NO_WORK, toText } from '../store/rows.ts'
import { executeStatement, type ExecutionResult } from '../store/memory-store.ts'
import { canonicalWork } from './canonical.ts'
import type { Effect, EffectBuilder, SharedState, StepContext } from './effect.ts'
import { FAULT_FREE, NO_CONSEQUENCES } from './effect.ts'
import type { Frames } from './frames.ts'
import { epochOf, type Instance, parametersOf, withWork, workOf } from './instance.ts'

export class StatementSteps {
  readonly #context: StepContext
  readonly #effects: EffectBuilder
  readonly #frames: Frames

  constructor(context: StepContext, effectBuilder: EffectBuilder, frames: Frames) {
    this.#context = context
    this.#effects = effectBuilder
    this.#frames = frames
  }

  async find(
    instance: Instance,
    shared: SharedState,
    request: StatementRequest,
  ): Promise<Effect[]> {
    const executed = this.execute(instance, shared, request)
    if (executed.kind === 'blocked') return this.#wait(instance, shared, request, executed)
    const alone = await this.effectOfExecution(instance, shared, request, executed)
    const beside = this.checkBesideOtherKeys(instance, shared, request, executed)
    const plain = { ...alone, violations: [...alone.violations, ...beside] }
    const lost = await this.#loseConnection(instance, shared, request)
    return [plain, ...this.#beginEarly(instance, shared), lost]
  }

  execute(
    instance: Instance,
    { database, others }: SharedState,
    request: StatementRequest,
    current = this.#context.databases.valueOf(database),
  ): ExecutionResult {
    const snapshot =
      instance.snapshot < 0 ? current : this.#context.databases.valueOf(instance.snapshot)
    const own = workOf(instance, request.transaction) ?? NO_WORK
    const parameters = parametersOf(instance, request.parameters)
    const view = { snapshot, current, own, others: others.map(withIdsOfItsOwn) }
    const { depth } = this.#context.automaton.nodeOf(instance.node)
    const statement = { text: request.text, parameters }
    return executeStatement(this.#context.schema, view, statement, `job-${depth}`)
  }

  async effectOfExecution(
    instance: Instance,
    shared: SharedState,
    request: StatementRequest,
    executed: Exclude<ExecutionResult, { kind: 'blocked' }>,
  ): Promise<Effect> {
    const { transaction } = request
    const after = { ...instance, snapshot: -1 }
    const summary = { label: labelOf(request, executed), ...FAULT_FREE }
    if (executed.kind === 'error') {
      const rolledBack = withWork(after, transaction, undefined)
      return await this.#effects.afterAnswer(rolledBack, shared, executed, summary)
    }
    const work = canonicalWork(executed.work)
    const violations = this.#checkWrite(instance, shared, work)
    const own = withWork(after, transaction, addWork(workOf(after, transaction) ?? NO_WORK, work))
    const more = { ...summary, violations }
    return await this.#effects.afterRows(own, shared, request, executed, more)
  }

  async end(
    instance: Instance,
    shared: SharedState,
    { kind, transaction }: { readonly kind: 'commit' | 'rollback'; readonly transaction: number },
  ): Promise<Effect[]> {
    const work = workOf(instance, transaction) ?? NO_WORK
    const ended = withWork(instance, transaction, undefined)
    if (kind === 'rollback') {
      return [await this.#effects.afterAnswer(ended, shared, DONE, { label: kind, ...FAULT_FREE })]
    }
    const effects = await this.#commit(ended, shared, work)
    if (!this.#context.space.isStepwise) return effects
    const notExecuted = await this.#effects.afterAnswer(ended, shared, LOST, NOT_EXECUTED)
    return [...effects, notExecuted]
  }

  /** A lost answer is a fault of its own only if the transaction changed something. */
  async #commit(ended: Instance, shared: SharedState, work: Work): Promise<Effect[]> {
    let committed: ReturnType<EffectBuilder['commit']>
    try {
      committed = this.#effects.commit(ended, shared, work)
    } catch (error) {
      const failed = { label: 'commit: error', ...FAULT_FREE }
      return [await this.#effects.afterAnswer(ended, shared, errorResultOf(error), failed)]
    }
    const { instance: after, shared: at, changed } = committed
    const done = { label: 'commit', ...FAULT_FREE, ...changed }
    const effects = [await this.#effects.afterAnswer(after, at, DONE, done)]
    if (work.changes.length === 0) return effects
    const lost = {
      label: 'commit, answer lost',
      act: 'lost',
      cost: 'losses',
      isFaultFree: false,
      ...changed,
    } as const
    return [...effects, await this.#effects.afterAnswer(after, at, LOST, lost)]
  }

  /**
   * Advances a program while its requests find nothing and its transactions change nothing; what
   * appears later is found by its next run. Undefined if the program ended in this way.
   */
  async skipNoOps(instance: Instance, shared: SharedState): Promise<Instance | undefined> {
    let [skipped, at] = [instance, instance]
    for (;;) {
      const { pending } = this.#context.automaton.nodeOf(at.node)
      const effect = pending && (await this.#noOp(at, shared, pending))
      if (pending === undefined || effect === undefined) return skipped
      if (effect.after === undefined) return undefined
      at = effect.after
      if (pending.kind !== 'statement') skipped = at
    }
  }

  /** The effect of a request that changes and locks nothing; undefined for any other. */
  async #noOp(
    instance: Instance,
    shared: SharedState,
    request: Request,
  ): Promise<Effect | undefined> {
    const summary = { label: '', ...FAULT_FREE }
    if (request.kind === 'call' || instance.snapshot >= 0) return undefined
    if (request.kind !== 'statement') {
      const hasWork = workOf(instance, request.transaction) !== undefined
      return hasWork ? undefined : await this.#effects.afterAnswer(instance, shared, DONE, summary)
    }
    const executed = this.execute(instance, shared, request)
    if (executed.kind !== 'result') return undefined
    const { work } = executed
    if (work.changes.length + work.locks.length > 0) return undefined
    return await this.#effects.afterRows(instance, shared, request, executed, summary)
  }

  /**
   * A statement that waits has begun: its snapshot is fixed, and it keeps the locks that it has.
   */
  #wait(
    instance: Instance,
    shared: SharedState,
    request: StatementRequest,
    { work }: Extract<ExecutionResult, { kind: 'blocked' }>,
  ): Effect[] {
    const { transaction } = request
    const snapshot = instance.snapshot < 0 ? shared.database : instance.snapshot
    const locked = addWork(workOf(instance, transaction) ?? NO_WORK, canonicalWork(work))
    const after = { ...withWork(instance, transaction, locked), snapshot }
    if (JSON.stringify(after) === JSON.stringify(instance)) return []
    const { database, provider } = shared
    return [{ database, provider, after, ...NO_CONSEQUENCES, ...FAULT_FREE, ...WAITS }]
  }

  #beginEarly(instance: Instance, shared: SharedState): Effect[] {
    const { database, provider } = shared
    if (instance.snapshot >= 0) return []
    const after = { ...instance, snapshot: database }
    const summary = {
      label: 'begins its statement',
      act: 'waits',
      cost: 'early',
      isFaultFree: false,
    } as const
    return [{ database, provider, after, ...NO_CONSEQUENCES, ...summary }]
  }

  async #loseConnection(
    instance: Instance,
    shared: SharedState,
    { transaction }: StatementRequest,
  ): Promise<Effect> {
    const disconnected = withWork({ ...instance, snapshot: -1 }, transaction, undefined)
    return await this.#effects.afterAnswer(disconnected, shared, LOST, NOT_EXECUTED)
  }

  /** Invariant 6: only the owner of the lease writes to an operation. */
  #checkWrite(instance: Instance, { database }: SharedState, { changes }: Work): string[] {
    const keys = this.#context.databases.valueOf(database)['idempotency_keys'] ?? []
    return changes.flatMap(({ table, row }) => {
      if (table !== 'idempotency_keys' || row === null) return []
      const own = epochOf(instance, keyOfName(toText(row['key'])))
      const before = keys.find(({ id }) => id === row['id'])
      if (before !== undefined && isMark(before, row)) return []
      const epoch = Number(before?.['lease_epoch'])
      const isStale = own !== undefined && own < epoch
      const isLeased = before?.['status'] === 'processing' && Number(before['lease_expires_at']) > 0
      if (isStale) return ['6: a former owner of the lease writes']
      const isClaim = row['status'] === 'processing' && (own !== epoch || !isLeased)
      const isNew = Number(row['lease_epoch']) > epoch
      if (isClaim && before !== undefined && before['status'] !== row['status'] && !isNew) {
        return ['6: an operation is claimed under the epoch of its former owner']
      }
      return isLeased && own !== epoch
        ? ['6: a program writes while another program owns the lease']
        : []
    })
  }

  /**
   * Checks the frame condition for the statement, in spaces where the rows of different keys are
   * separate.
   */
  checkBesideOtherKeys(
    instance: Instance,
    shared: SharedState,
    request: StatementRequest,
    alone: ExecutionResult,
  ): string[] {
    const { operation, keys, refundsPart } = this.#context.space
    if (operation !== 'payment.create' || keys > 1 || refundsPart) return []
    if (instance.snapshot >= 0 || ONLY_TENANTS.test(request.text)) return []
    const execute = (store: Database) => this.execute(instance, shared, request, store)
    const isAboutOneKey = instance.members.length > 0 || namesOperation(request.parameters)
    return this.#frames.check(shared.database, isAboutOneKey, execute, alone)
  }
}

const worksWithOwnIds = new WeakMap<Work, Work>()

/** Programs number the ids that they generate, each from 1. So equal ids of two programs differ. */
function withIdsOfItsOwn(work: Work): Work {
  const known = worksWithOwnIds.get(work)
  if (known !== undefined) return known
  const text = JSON.stringify(work).replaceAll(GENERATED_ID_PREFIX, OTHER_ID_PREFIX)
  const renamed = JSON.parse(text) as Work
  worksWithOwnIds.set(work, renamed)
  return renamed
}

const OTHER_ID_PREFIX = GENERATED_ID_PREFIX.replace('0f', '0e')

/** A client that wants out only marks the operation of another program. */
function isMark(before: Row, row: Row): boolean {
  const { cancellation, expires_at } = row
  return (
    cancellation === 'in_progress' &&
    jsonOf(row) === jsonOf({ ...before, cancellation, expires_at })
  )
}

const DONE = { kind: 'done' } as const
const LOST = { kind: 'connection_lost' } as const

const NOT_EXECUTED = {
  label: 'loses the connection',
  act: 'lost',
  cost: 'losses',
  isFaultFree: false,
} as const

/** The tenants belong to no key, nor does the next id of a list. */
const ONLY_TENANTS = /^select ([\w," ]+ from tenants where|next_id\()/

const WAITS = { label: 'waits for a lock', act: 'waits' } as const

/** Label of a statement: verb, table, and whether it affected any row. */
function labelOf({ text }: StatementRequest, executed: ExecutionResult): string {
  const [, verb = '', table = ''] =
    /\b(update|insert into|delete from|from) "?([\w.]+)/.exec(text.replaceAll('"', '')) ?? []
  const what = `${verb} ${table}`
  if (executed.kind === 'error') return `${what}: error ${executed.code}`
  return executed.kind === 'result' && executed.result.count > 0 ? what : `${what}: no rows`
}
