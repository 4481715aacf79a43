// The barrier at which those meet who want the same operation: a lock on its row. Whoever comes waits there, in
// the middle of a statement, and when all have come they go on together.
import { setTimeout as wait } from 'node:timers/promises'
import { inTransaction } from '../../src/db/connection/transaction.ts'
import { wake } from './lane-jobs.ts'
import type { Lane } from './lane.ts'

const POLL_MS = 5
/** A process has to start, and a lease to run out. */
const MEETING_LIMIT_MS = 10_000

/** The operation of a tenant that is not over. */
export interface Contested {
  readonly lane: Lane
  readonly tenantId: string
}

/**
 * Has so many meet at the row of the operation, and then lets them go on.
 *
 * @param come has them come, once the row is locked.
 * @param released called when they have met, a moment before they go on.
 * @returns whether they have met.
 */
export async function meet(
  { lane, tenantId }: Contested,
  rivals: number,
  come: () => Promise<void>,
  released: () => void = () => {},
): Promise<boolean> {
  return await inTransaction(lane.owner.sql, async (tx) => {
    const rows = await tx`
      select from idempotency_keys where tenant_id = ${tenantId} and status <> 'completed' for update
    `
    if (rows.length === 0) return false
    const arrival = come().then(() => untilWaiting(lane, rivals))
    // Who has to come may itself be struck, and the row is not held for as long as that takes.
    const haveMet = await Promise.race([arrival, wait(MEETING_LIMIT_MS, false, { ref: false })])
    released()
    return haveMet
  })
}

/** Resolves when so many sessions of the service wait for a lock: whether they do in time. */
export async function untilWaiting({ owner: { sql } }: Lane, sessions: number): Promise<boolean> {
  const endsAt = performance.now() + MEETING_LIMIT_MS
  while (performance.now() < endsAt) {
    const waiting = await sql`
      select from pg_stat_activity
      where datname = current_database() and application_name like 'atomic-payments%'
        and wait_event_type = 'Lock'
    `
    if (waiting.length >= sessions) return true
    await wait(POLL_MS)
  }
  return false
}

/** Has the job of the operation be there once more, while somebody has it. */
export async function giveOutAgain({ lane, tenantId }: Contested): Promise<void> {
  const { sql } = lane.owner
  await sql`
    update pgboss.job set state = 'retry', start_after = now() - interval '1 second'
    where name = 'operations' and data ->> 'tenantId' = ${tenantId} and state in ('active', 'retry')
  `
  wake(sql)
}

/** Has the time of the key come, or be later. */
export async function expire({ lane, tenantId }: Contested, after: string): Promise<void> {
  await inTransaction(lane.owner.sql, async (tx) => {
    // Time that passes is no move of the service.
    await tx`set local session_replication_role = replica`
    await tx`
      update idempotency_keys set expires_at = now() + ${after}::interval
      where tenant_id = ${tenantId}
    `
  })
}
