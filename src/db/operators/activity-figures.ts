// Reads what the service does now: how many operations it accepts and completes, how long takeovers
// take, and whose operations wait. Each statement reads a bounded number of rows by an index.
import type { Sql, Transaction } from '../connection/client.ts'
import { firstIdAt } from '../connection/ids.ts'
import { seesEveryTenant } from '../connection/row-security.ts'

/** The time over which the rates are counted. */
export const RATE_WINDOW_SECONDS = 10

/** For clocks that differ: the ids are of the clocks of processes, the times of the database's. */
const CLOCKS_DIFFER_MS = 10_000

/** Per tenant. More than one database completes in the time of the rates. */
const LINES_READ_MAX = 20_000

/** Operations that call the provider; others are completed by the request itself. */
export interface OperationCounts {
  readonly accepted: number
  readonly completed: number
}

/**
 * Counts the operations that were accepted and completed during the last seconds, by the first and
 * the last lines of their timelines.
 */
export async function countRecentOperations(
  sql: Sql | Transaction,
  now: Date,
): Promise<OperationCounts> {
  const oldest = firstIdAt(now.getTime() - RATE_WINDOW_SECONDS * 1_000 - CLOCKS_DIFFER_MS)
  const [counts] = await sql<OperationCounts[]>`
    with tenant (owner) as (select id from tenants),
    line as (
      select recent.phase, recent.reached
      from tenant cross join lateral (
        select phase, reached from phase_runs
        where tenant_id = owner and id >= ${oldest}
          and recorded_at > now() - ${RATE_WINDOW_SECONDS} * interval '1 second'
        order by id desc
        limit ${LINES_READ_MAX}
      ) as recent
    )
    select
      (count(*) filter (where phase is null))::integer as accepted,
      (count(*) filter (where reached = 'finished'))::integer as completed
    from line
    where ${seesEveryTenant(sql)}
  `
  return counts ?? { accepted: 0, completed: 0 }
}

/** The time in which takeovers are looked for. */
export const TAKEOVER_WINDOW_SECONDS = 60 * 60

/** The newest lines of later lease epochs that are read. */
const LATER_LINES_MAX = 500

/**
 * The takeovers of the last hour, each as the seconds during which the timeline of its operation stood
 * still. A takeover is a lease epoch after the first whose previous one did not record how it ended:
 * its last line, or that of the intent, has reached a recovery point. An epoch that ended without a
 * final outcome, and is only tried again, has recorded that.
 */
export async function listTakeovers(sql: Sql | Transaction, now: Date): Promise<number[]> {
  const oldest = firstIdAt(now.getTime() - TAKEOVER_WINDOW_SECONDS * 1_000)
  const rows = await sql<{ seconds: number }[]>`
    with later as (
      select tenant_id, payment_id, operation_id, lease_epoch, recorded_at from phase_runs
      where lease_epoch > 1 and id >= ${oldest}
      order by id desc
      limit ${LATER_LINES_MAX}
    ),
    began as (
      select tenant_id, payment_id, operation_id, lease_epoch, min(recorded_at) as at
      from later
      group by tenant_id, payment_id, operation_id, lease_epoch
    )
    select greatest(extract(epoch from began.at - before.recorded_at), 0)::float8 as seconds
    from began cross join lateral (
      select run.reached, run.recorded_at from phase_runs as run
      where run.tenant_id = began.tenant_id and run.payment_id = began.payment_id
        and run.operation_id = began.operation_id and run.lease_epoch < began.lease_epoch
      order by run.recorded_at desc, run.started_at desc, run.id desc
      limit 1
    ) as before
    where ${seesEveryTenant(sql)} and before.reached is not null
  `
  return rows.map(({ seconds }) => seconds)
}

/** A tenant with operations that are not completed. */
export interface WaitingTenant {
  readonly tenantId: string
  readonly name: string
  readonly operations: number
}

const TENANTS_SHOWN_MAX = 10

/** The tenants with the most unfinished operations, among the 10000 oldest. */
export async function listWaitingTenants(sql: Sql | Transaction): Promise<WaitingTenant[]> {
  const rows = await sql<WaitingTenant[]>`
    with unfinished as (
      select tenant_id from idempotency_keys
      where status in ('pending', 'processing')
      order by created_at
      limit 10000
    ),
    waiting as (
      select tenant_id, count(*)::integer as operations
      from unfinished
      group by tenant_id
      order by operations desc, tenant_id
      limit ${TENANTS_SHOWN_MAX}
    )
    select tenants.id as "tenantId", tenants.name, waiting.operations
    from waiting join tenants on tenants.id = waiting.tenant_id
    where ${seesEveryTenant(sql)}
  `
  return rows.toSorted((one, other) => other.operations - one.operations)
}
