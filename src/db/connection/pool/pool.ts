// Provides a pool of sessions, each for one unit of work at a time: a statement or a transaction. The
// driver's own pool (postgres 3.4.9) notices no server that is silent or was replaced. A machine that
// was cut off closes no connection.
import type { Sql, TransactionSql as Transaction } from 'postgres'
import type { Database } from '../driver.ts'
import { isReplacedBy } from '../server/server.ts'
import {
  isConnectionBroken,
  isFromOtherThanPrimary,
  storeErrorKind,
  type StoreErrorKind,
} from '../store-errors.ts'
import { tagOf, whenAwaited } from '../transaction.ts'
import type { Session } from './session.ts'

export interface Pool {
  readonly sql: Sql
  /**
   * The same pool for the work of one tenant, which uses all sessions but one at a time, so that the work
   * of another tenant finds one. With fewer than three sessions it uses all.
   */
  readonly ofTenant: (tenantId: string) => Sql
}

export interface PoolOptions {
  readonly size: number
  /** Makes a session, which connects at its first statement. */
  readonly connect: () => Session
  /**
   * How long a server may say nothing during a unit of work, before its session counts as lost. It limits
   * each statement itself, and says so sooner. The connection would fail by itself only after TCP gives
   * up, a quarter of an hour later.
   */
  readonly limitMs: number
  readonly database: Pick<Database, 'findPrimary'>
  /** Is called for each statement or transaction that the store could not serve. */
  readonly failed?: ((kind: StoreErrorKind) => void) | undefined
}

/** Opens a pool. */
export function openPool({ size, connect, limitMs, database, failed }: PoolOptions): Pool {
  const slots = new Slots(size, connect)
  const stopWatching = watchSessions(slots.all, limitMs, database)
  // Runs no statements. It builds them.
  const { sql: builder } = connect()

  const use = async <Result>(
    tenantId: string | undefined,
    work: (session: Session) => Promise<Result>,
  ): Promise<Result> => {
    const slot = await slots.acquire(tenantId)
    const { session } = slot
    try {
      return await work(session)
    } catch (error) {
      const kind = storeErrorKind(error)
      if (kind !== undefined) failed?.(kind)
      // A new session may have another host.
      if (isConnectionBroken(error) || isFromOtherThanPrimary(error)) session.lose()
      throw error
    } finally {
      slots.release(slot)
    }
  }

  const end = async (options?: { timeout?: number }) => {
    stopWatching()
    await slots.end(options)
  }

  const open = (tenantId?: string): Sql => {
    const tag = tagOf(builder, (strings, values) =>
      use(tenantId, (session) => session.execute((sql) => sql(strings, ...values))),
    )
    const unsafe = (...sent: Parameters<Sql['unsafe']>) =>
      whenAwaited(builder.unsafe(...sent), () =>
        use(tenantId, (session) => session.executeText(...sent)),
      )
    const begin = (work: (tx: Transaction) => Promise<unknown>) =>
      use(tenantId, (session) => session.begin(work))
    return Object.assign(tag, { unsafe, begin, end }) as never
  }
  return { sql: open(), ofTenant: open }
}

/** Each slot has a session, for one unit of work at a time. */
interface Slot {
  session: Session
  work: Work | undefined
}

interface Work {
  readonly tenantId: string | undefined
  readonly atMs: number
  /** When its server had last said something, and how much by then. */
  heardAtMs: number
  heardBytes: number
}

interface Waiting {
  readonly tenantId: string | undefined
  readonly resolve: (slot: Slot) => void
}

/** One of two may wait for a lock or a silent server, and the other one still serves. */
const OF_TENANT_MIN = 2

/** Work takes the first free slot, so that work in sequence finds a warm session, or waits in line. */
class Slots {
  readonly all: readonly Slot[]
  readonly #connect: () => Session
  readonly #waiting: Waiting[] = []
  /** The work of one tenant takes all slots but one, so that the work of another one finds one. */
  readonly #share: number
  #isClosed = false

  constructor(size: number, connect: () => Session) {
    this.#connect = connect
    this.all = Array.from({ length: size }, () => ({ session: connect(), work: undefined }))
    this.#share = Math.max(OF_TENANT_MIN, size - 1)
  }

  async acquire(tenantId: string | undefined): Promise<Slot> {
    const free = this.#mayUse(tenantId) && this.all.find(({ work }) => work === undefined)
    if (free) return this.#take(free, tenantId)
    return await new Promise((resolve) => this.#waiting.push({ tenantId, resolve }))
  }

  release(slot: Slot): void {
    slot.work = undefined
    const index = this.#waiting.findIndex(({ tenantId }) => this.#mayUse(tenantId))
    const [next] = index === -1 ? [] : this.#waiting.splice(index, 1)
    next?.resolve(this.#take(slot, next.tenantId))
  }

  /** Waits for the work, at most that many seconds. Later work is refused. */
  async end(options?: { timeout?: number }): Promise<void> {
    this.#isClosed = true
    await Promise.all(this.all.map(({ session }) => session.sql.end(options)))
  }

  #mayUse(tenantId: string | undefined): boolean {
    if (tenantId === undefined) return true
    return this.all.filter(({ work }) => work?.tenantId === tenantId).length < this.#share
  }

  #take(slot: Slot, tenantId: string | undefined): Slot {
    if (slot.session.isOld) slot.session.lose()
    if (slot.session.isOver && !this.#isClosed) slot.session = this.#connect()
    const atMs = performance.now()
    slot.work = { tenantId, atMs, heardAtMs: atMs, heardBytes: slot.session.bytesHeard }
    return slot
  }
}

const INTERVAL_MS = 1_000
/** Work that takes longer may wait for a server that was replaced. */
const SLOW_MS = 1_000
/** Otherwise the primary is looked for this often: a former one may answer as if nothing had happened. */
const LOOK_MS = 5_000

const isSlow = ({ work }: Slot): boolean =>
  work !== undefined && performance.now() - work.atMs > SLOW_MS

/**
 * Gives up the sessions whose server is silent, or was replaced as the primary. Returns a function that
 * stops it.
 */
function watchSessions(
  slots: readonly Slot[],
  limitMs: number,
  database: PoolOptions['database'],
): () => void {
  let lookedAtMs = performance.now()
  const followPrimary = async () => {
    const isDue = performance.now() - lookedAtMs > LOOK_MS
    if (!isDue && !slots.some(isSlow)) return
    lookedAtMs = performance.now()
    // When there is none yet, work that waits has its own limit.
    const found = await database.findPrimary().catch(() => undefined)
    for (const slot of found === undefined ? [] : slots) {
      const { server } = slot.session
      if (server && found && isReplacedBy(server, found.server, isSlow(slot))) slot.session.lose()
    }
  }
  const timers = [
    setInterval(() => void followPrimary(), SLOW_MS),
    setInterval(
      () => slots.forEach((slot) => endSilent(slot, limitMs)),
      Math.min(INTERVAL_MS, limitMs / 4),
    ),
  ]
  for (const timer of timers) timer.unref()
  return () => timers.forEach((timer) => clearInterval(timer))
}

function endSilent({ session, work }: Slot, limitMs: number): void {
  if (work === undefined) return
  const heardBytes = session.bytesHeard
  if (heardBytes !== work.heardBytes || session.mayBeSilent) {
    Object.assign(work, { heardBytes, heardAtMs: performance.now() })
  } else if (performance.now() - work.heardAtMs > limitMs) session.lose()
}
