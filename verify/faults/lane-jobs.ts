// The jobs of a lane's operations and of the provider's events: how many are open, and time that passes for them.
import { createJobWaker } from '../../src/db/connection/notifications.ts'
import type { Lane } from './lane.ts'

export async function countJobs({ owner: { sql } }: Lane): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from pgboss.job
    where name in ('operations', 'provider-events') and state < 'completed'
  `
  return row?.count ?? 0
}

/** Whether anything is left that may move a payment on: an operation, an event or a reminder. */
export async function hasWork({ owner: { sql } }: Lane): Promise<boolean> {
  const open = await sql`
    select from pgboss.job
    where name in ('operations', 'provider-events', 'reminders') and state < 'completed'
    limit 1
  `
  return open.length > 0
}

/**
 * Gives out once more what a worker took and did not settle, as pg-boss does some seconds later. It is
 * about operations that are over, and nothing may come of it.
 */
export async function expireJobs({ owner: { sql } }: Lane): Promise<void> {
  const { count } = await sql`
    update pgboss.job set state = 'retry', start_after = now() - interval '1 second'
    where name = 'operations' and (state = 'active' or (state = 'retry' and start_after > now()))
      and exists (
        select from idempotency_keys
        where tenant_id = (data ->> 'tenantId')::uuid and id = (data ->> 'operationId')::uuid
          and status = 'completed'
      )
  `
  if (count > 0) wake(sql)
}

/**
 * The same of events, which may be applied at any time; one takes far less than a second. An event that waits for
 * an operation comes when that is over: how often it would come in vain depends on the machine.
 */
export async function hastenEvents({ owner: { sql } }: Lane): Promise<void> {
  const { count } = await sql`
    update pgboss.job set state = 'retry', start_after = now() - interval '1 second'
    where name = 'provider-events' and (
      (state = 'retry' and start_after > now())
      or (state = 'active' and started_on < now() - interval '1 second')
    )
    and not exists (select from pgboss.job where name = 'operations' and state < 'completed')
  `
  if (count > 0) wake(sql)
}

/** Has every worker look for jobs. */
export function wake(sql: Lane['owner']['sql']): void {
  createJobWaker(sql, () => {})()
}
