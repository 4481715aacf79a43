// A rendezvous of sessions that want the same operation, at a lock on its row. Each waits there in
// the middle of a statement. When all have arrived, the lock is released and they go on together.
import { setTimeout as wait } from 'node:timers/promises'
import { inTransaction } from '../../src/db/connection/transaction.ts'
import { wake } from './lane-jobs.ts'
import type { Lane } from './lane.ts'
import { poll } from './poll.ts'

/** Enough for a process to start and a lease to expire. */
const RENDEZVOUS_LIMIT_MS = 15_000

/** The open operation of a tenant. */
export interface Contested {
  readonly lane: Lane
  readonly tenantId: string
}

/**
 * Locks the row of the operation, waits until enough sessions wait for it, and releases it.
 *
 * @param start makes the sessions come, once the row is locked.
 * @param onRelease called when they have met, a moment before they go on.
 * @returns whether they have met.
 */
export async function rendezvous(
  { lane, tenantId }: Contested,
  sessions: number,
  start: () => Promise<void>,
  onRelease: () => void = () => {},
): Promise<boolean> {
  return await inTransaction(lane.owner.sql, async (tx) => {
    const rows = await tx`
      select from idempotency_keys where tenant_id = ${tenantId} and status <> 'completed' for update
    `
    if (rows.length === 0) return false
    const arrival = start().then(() => untilWaiting(lane, sessions))
    // A session may itself be hit by a fault. The lock does not last until it has recovered.
    const haveMet = await Promise.race([arrival, wait(RENDEZVOUS_LIMIT_MS, false, { ref: false })])
    onRelease()
    return haveMet
  })
}

/** Whether enough sessions of the service wait for a lock in time. */
export async function untilWaiting({ owner: { sql } }: Lane, sessions: number): Promise<boolean> {
  const isWaiting = async () => {
    const waiting = await sql`
      select from pg_stat_activity
      where datname = current_database() and application_name like 'atomic-payments%'
        and wait_event_type = 'Lock'
    `
    return waiting.length >= sessions
  }
  return await poll(RENDEZVOUS_LIMIT_MS, isWaiting, { pauseMs: 5 })
}

/** Makes the job of the operation due again while a worker has it. */
export async function makeJobDue({ lane, tenantId }: Contested): Promise<void> {
  const { sql } = lane.owner
  await sql`
    update atomic_jobs.job set state = 'retry', start_after = now() - interval '1 second'
    where name = 'operations' and data ->> 'tenantId' = ${tenantId} and state in ('active', 'retry')
  `
  wake(sql)
}

/** Sets when the key of the open operation expires, relative to now. */
export async function expire({ lane, tenantId }: Contested, after: string): Promise<void> {
  await inTransaction(lane.owner.sql, async (tx) => {
    // The triggers must not record it: it is no move of the service.
    await tx`set local session_replication_role = replica`
    await tx`
      update idempotency_keys set expires_at = now() + ${after}::interval
      where tenant_id = ${tenantId} and status <> 'completed'
    `
  })
}
