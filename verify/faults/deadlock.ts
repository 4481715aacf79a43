// A real deadlock: a session of ours locks the payment of an operation and then the operation, the worker's
// statement the operation and then the payment. PostgreSQL ends the worker's, because it looks first.
import { setTimeout as wait } from 'node:timers/promises'
import type postgres from 'postgres'
import type { Scene } from './faults.ts'
import type { Lane } from './lane.ts'
import type { Point } from './points.ts'
import { countHeard, untilHeard } from './shortage.ts'
import type { Verdict } from './watch.ts'

const DEADLOCK = '40P01'

/** PostgreSQL looks for a deadlock once, when a session has waited for a second: by then there must be one. */
const BLOCKING_LIMIT_MS = 3_000
const POLL_MS = 10

interface Session {
  readonly sql: postgres.ReservedSql
  readonly pid: number
  /** The payment that it has locked; undefined when nobody works on one. */
  readonly paymentId: string | undefined
}

export function lockCrosswise(scene: Scene, { role }: Point): Verdict {
  const { lane, shop, missed } = scene
  const { id: tenantId } = shop.tenant
  const before = countHeard(lane, role, DEADLOCK)
  const session = lockPayment(lane, tenantId)
  scene.meanwhile(
    session.then(async ({ sql, pid, paymentId }) => {
      try {
        if (paymentId === undefined || !(await untilBlocking(lane, pid))) {
          missed()
          return []
        }
        await sql`
          select from idempotency_keys
          where tenant_id = ${tenantId} and payment_id = ${paymentId} and status = 'processing'
          for update
        `
        await untilHeard(scene, role, DEADLOCK, { before })
        return []
      } finally {
        await sql`rollback`
        sql.release()
      }
    }),
  )
  return { do: 'wait', until: session.then(() => 'pass') }
}

/**
 * Of one operation, and no more: of several that waited for it PostgreSQL would end the one that it gets to
 * next, and the others, which have looked for a deadlock before there was one, would wait.
 */
async function lockPayment({ owner }: Lane, tenantId: string): Promise<Session> {
  const sql = await owner.sql.reserve()
  await sql`begin`
  // The other one is to find it.
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

/** Whether another session has come to wait for this one, in time. */
async function untilBlocking({ owner: { sql } }: Lane, pid: number): Promise<boolean> {
  const endsAt = performance.now() + BLOCKING_LIMIT_MS
  while (performance.now() < endsAt) {
    const waiting = await sql`
      select from pg_stat_activity
      where datname = current_database() and ${pid} = any (pg_blocking_pids(pid))
    `
    if (waiting.length > 0) return true
    await wait(POLL_MS)
  }
  return false
}
