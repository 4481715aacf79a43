// The jobs of a lane's operations and provider events: counts the open ones and makes waiting ones
// due.
import { createJobWaker } from '../../src/db/connection/notifications.ts'
import type { Lane } from './lane.ts'

export async function countJobs({ owner: { sql } }: Lane): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from atomic_jobs.job
    where name in ('operations', 'provider-events') and state < 'completed'
  `
  return row?.count ?? 0
}

/** Whether a job is left that may change a payment: an operation, an event or a reminder. */
export async function hasWork({ owner: { sql } }: Lane): Promise<boolean> {
  const open = await sql`
    select from atomic_jobs.job
    where name in ('operations', 'provider-events', 'reminders') and state < 'completed'
    limit 1
  `
  return open.length > 0
}

/**
 * Makes jobs due again that a worker fetched and did not complete, as pg-boss does some seconds
 * later. They belong to completed operations, so they must have no effect. A live worker collects jobs for
 * 50 ms before it completes them: a job that became due again in that time would never end.
 */
export async function redeliverJobs({ owner: { sql } }: Lane): Promise<void> {
  const { count } = await sql`
    update atomic_jobs.job set state = 'retry', start_after = now() - interval '1 second'
    where name = 'operations' and (
      (state = 'active' and started_on < now() - interval '200 milliseconds')
      or (state = 'retry' and start_after > now())
    )
      and exists (
        select from idempotency_keys
        where tenant_id = (data ->> 'tenantId')::uuid and id = (data ->> 'operationId')::uuid
          and status = 'completed'
      )
  `
  if (count > 0) wake(sql)
}

/**
 * The same for provider events, which may be applied at any time; applying one takes far less than
 * a second. While an operation is open, its events keep waiting: the number of vain attempts would
 * depend on the machine.
 */
export async function makeEventsDue({ owner: { sql } }: Lane): Promise<void> {
  const { count } = await sql`
    update atomic_jobs.job set state = 'retry', start_after = now() - interval '1 second'
    where name = 'provider-events' and (
      (state = 'retry' and start_after > now())
      or (state = 'active' and started_on < now() - interval '1 second')
    )
    and not exists (select from atomic_jobs.job where name = 'operations' and state < 'completed')
  `
  if (count > 0) wake(sql)
}

/** The same for webhooks: an attempt takes far less than a second, and may be made twice. */
export async function redeliverWebhooks({ owner: { sql } }: Lane): Promise<void> {
  await sql`
    update atomic_jobs.job set state = 'retry', start_after = now() - interval '1 second'
    where name = 'webhook-deliveries' and (
      (state = 'retry' and start_after > now())
      or (state = 'active' and started_on < now() - interval '1 second')
    )
  `
}

/** Makes every worker look for jobs, by default of operations. */
export function wake(sql: Lane['owner']['sql'], queue?: string): void {
  createJobWaker(sql, () => {}, queue)()
}
