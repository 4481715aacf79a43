// A real deadlock: a session of ours locks the payment of an operation and then the operation, the worker's
// statement the operation and then the payment. PostgreSQL ends the worker's, because it looks first.
import { setTimeout as wait } from 'node:timers/promises'
import type postgres from 'postgres'
import type { Scene } from './faults.ts'
import type { Lane } from './lane.ts'
import type { Point } from './points.ts'
import { untilHeard } from './shortage.ts'
import type { Verdict } from './watch.ts'

const DEADLOCK = '40P01'

/** PostgreSQL looks for a deadlock once, when a session has waited for a second: by then there must be one. */
const BLOCKING_LIMIT_MS = 3_000
const POLL_MS = 10

interface Session {
  readonly sql: postgres.ReservedSql
  readonly pid: number
}

export function lockCrosswise(scene: Scene, { role }: Point): Verdict {
  const { lane, shop, missed } = scene
  const session = lockPayments(lane, shop.tenant.id)
  scene.meanwhile(
    session.then(async ({ sql, pid }) => {
      try {
        if (!(await untilBlocking(lane, pid))) {
          missed()
          return []
        }
        await sql`select from idempotency_keys where tenant_id = ${shop.tenant.id} for update`
        await untilHeard(scene, role, DEADLOCK)
        return []
      } finally {
        await sql`rollback`
        sql.release()
      }
    }),
  )
  return { do: 'wait', until: session.then(() => 'pass') }
}

async function lockPayments({ owner }: Lane, tenantId: string): Promise<Session> {
  const sql = await owner.sql.reserve()
  await sql`begin`
  // The other one is to find it.
  await sql`set local deadlock_timeout = '1min'`
  await sql`select from payments where tenant_id = ${tenantId} for update`
  const [row] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`
  return { sql, pid: row?.pid ?? 0 }
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
