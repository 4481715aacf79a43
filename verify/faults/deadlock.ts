// A fault: a real deadlock. A session of the suite locks the payment and then its operation, the
// worker's transaction the operation and then its payment. PostgreSQL aborts the worker's, because it
// checks first.
import postgres from 'postgres'
import type { FaultContext } from './fault.ts'
import type { Lane } from './lane.ts'
import type { Point } from './points.ts'
import { poll } from './poll.ts'
import { countErrors, untilRefused } from './shortage.ts'
import type { Action } from './watch.ts'

const DEADLOCK = '40P01'

/**
 * PostgreSQL checks once, when a session has waited for a second: there must be a deadlock by then.
 */
const BLOCKING_LIMIT_MS = 3_000

interface Session {
  readonly sql: postgres.Sql
  readonly pid: number
  /** The payment that it locked; undefined when no operation of a payment is in progress. */
  readonly paymentId: string | undefined
}

export function causeDeadlock(context: FaultContext, { role }: Point): Action {
  const { lane, merchant, reportMissed } = context
  const { id: tenantId } = merchant.tenant
  const before = countErrors(lane, role, DEADLOCK)
  const session = lockPayment(lane, tenantId)
  context.trackWork(
    session.then(async ({ sql, pid, paymentId }) => {
      try {
        if (paymentId === undefined || !(await untilBlocking(lane, pid))) {
          reportMissed()
          return []
        }
        await sql`
          select from idempotency_keys
          where tenant_id = ${tenantId} and payment_id = ${paymentId} and status = 'processing'
          for update
        `
        await untilRefused(context, role, DEADLOCK, { before })
        return []
      } finally {
        await sql`rollback`
        await sql.end()
      }
    }),
  )
  return { do: 'wait', until: session.then(() => 'pass') }
}

/**
 * Locks the payment of one operation only. If several sessions waited for it, PostgreSQL would
 * abort the one that it checks next. The others were checked before there was a deadlock, and would
 * wait.
 */
async function lockPayment({ databaseUrl }: Lane, tenantId: string): Promise<Session> {
  const sql = postgres(databaseUrl, { max: 1 })
  await sql`begin`
  // The worker's session has to find the deadlock.
  await sql`set local deadlock_timeout = '1min'`
  const [locked] = await sql<{ id: string }[]>`
    select payments.id from payments
    join idempotency_keys on idempotency_keys.tenant_id = payments.tenant_id and payment_id = payments.id
    where payments.tenant_id = ${tenantId} and idempotency_keys.status = 'processing'
    order by idempotency_keys.id limit 1
    for update of payments
  `
  const [row] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`
  return { sql, pid: row?.pid ?? 0, paymentId: locked?.id }
}

/** Whether another session waits for this one in time. */
async function untilBlocking({ owner: { sql } }: Lane, pid: number): Promise<boolean> {
  const isBlocking = async () => {
    const waiting = await sql`
      select from pg_stat_activity
      where datname = current_database() and ${pid} = any (pg_blocking_pids(pid))
    `
    return waiting.length > 0
  }
  return await poll(BLOCKING_LIMIT_MS, isBlocking, { pauseMs: 10 })
}
