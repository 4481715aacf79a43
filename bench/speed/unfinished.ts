// Keeps the payments that a measurement left unfinished from affecting the next one.
import { setTimeout as delay } from 'node:timers/promises'
import type { Sql } from '../../src/db/connection/client.ts'
import { inTransaction } from '../../src/db/connection/transaction.ts'
import { JOB_SCHEMA, OPERATIONS_QUEUE } from '../../src/db/queue/jobs.ts'

export interface Unfinished {
  /** A connection as the owner of the tables. */
  readonly owner: Sql
  readonly tenantId: string
  readonly signal: AbortSignal
}

/** Runs the work while no worker takes the payments that it makes, and then deletes them. */
export async function withWorkerPaused<Result>(
  { owner, tenantId, workerPid }: Unfinished & { readonly workerPid: number },
  work: () => Promise<Result>,
): Promise<Result> {
  process.kill(workerPid, 'SIGSTOP')
  try {
    return await work()
  } finally {
    await removeUnfinished(owner, tenantId).finally(() => process.kill(workerPid, 'SIGCONT'))
  }
}

/**
 * Deletes the payments that no worker has completed, for example because it was paused, with or
 * without an operation. Completing them would take too long.
 */
export async function removeUnfinished(sql: Sql, tenantId: string): Promise<void> {
  await inTransaction(sql, async (tx) => {
    await tx`set local session_replication_role = replica`
    await tx`
      delete from ${tx(JOB_SCHEMA)}.job
      where name = ${OPERATIONS_QUEUE} and data ->> 'tenantId' = ${tenantId} and state <> 'completed'
    `
    await tx`
      with gone as (
        delete from payments
        where tenant_id = ${tenantId} and status = 'processing'
        returning id
      ),
      operation as (
        delete from idempotency_keys using gone
        where tenant_id = ${tenantId} and payment_id = gone.id
      ),
      event as (
        delete from events using gone
        where tenant_id = ${tenantId} and payment_id = gone.id
      )
      delete from phase_runs using gone
      where tenant_id = ${tenantId} and payment_id = gone.id
    `
  })
}

const DRAIN_LIMIT_MS = 60_000
const DRAIN_POLL_MS = 20

/**
 * Waits until the workers have caught up, so that no measurement affects the next one.
 *
 * @param tenantId without it, waits for the operations of all tenants.
 * @throws Error when operations are left after a minute.
 */
export async function drain({
  owner,
  tenantId = null,
  signal,
}: Pick<Unfinished, 'owner' | 'signal'> & { readonly tenantId?: string | null }): Promise<void> {
  const limit = AbortSignal.timeout(DRAIN_LIMIT_MS)
  for (;;) {
    const [row] = await owner<{ left: boolean }[]>`
      select exists (
        select from idempotency_keys
        where (${tenantId}::uuid is null or tenant_id = ${tenantId})
          and status in ('pending', 'processing')
      ) as left
    `
    if (row?.left !== true) return
    if (limit.aborted) throw new Error('the workers have left operations unfinished')
    await delay(DRAIN_POLL_MS, undefined, { signal })
  }
}
