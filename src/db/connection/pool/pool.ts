// Provides a pool of sessions, each for one unit of work at a time: a statement or a transaction. The
// driver's own pool (postgres 3.4.9) notices no server that is silent or was replaced.
import type { Sql, TransactionSql as Transaction } from 'postgres'
import type { Database } from '../driver.ts'
import {
  isConnectionBroken,
  isFromOtherThanPrimary,
  storeErrorKind,
  type StoreErrorKind,
} from '../store-errors.ts'
import { Statement, tagged, templateOf, type Template } from '../templates.ts'
import { Slots } from './slots.ts'
import { watchSessions } from './watch-sessions.ts'
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
   * How long a server may say nothing during a unit of work, before its session counts as lost. The
   * connection would fail by itself only after TCP gives up, a quarter of an hour later.
   */
  readonly limitMs: number
  readonly database: Pick<Database, 'findPrimary'>
  /** Is called for each statement or transaction that the store could not serve. */
  readonly failed?: ((kind: StoreErrorKind) => void) | undefined
}

/** Opens a pool. */
export function openPool({ size, connect, limitMs, database, failed }: PoolOptions): Pool {
  const slots = new Slots(size, connect)
  const stopWatching = watchSessions(slots.all, { limitMs, database })
  // Runs no statements. It builds identifiers.
  const { builder } = connect()

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
    const run = (template: Template) => use(tenantId, (session) => session.execute(template))
    const unsafe = (...sent: Parameters<Sql['unsafe']>) =>
      new Statement(templateOf(sent[0]), () =>
        use(tenantId, (session) => session.executeText(...sent)),
      )
    const begin = (work: (tx: Transaction) => Promise<unknown>) =>
      use(tenantId, (session) => session.begin(work))
    const tag = tagged(builder, (template) => new Statement(template, run))
    return Object.assign(tag, { unsafe, begin, end }) as never
  }
  return { sql: open(), ofTenant: open }
}
