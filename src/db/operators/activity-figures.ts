// Reads what the service does now: how many operations it accepts and completes, how long takeovers
// take, and whose operations wait. Each statement reads a bounded number of rows by an index.
import type { Sql, Transaction } from '../connection/client.ts'
import { asService } from '../connection/transaction.ts'
import type { phaseRuns } from '../schema/phase-runs.ts'
import { type RowOf, firstIdAt } from '../connection/rows.ts'

/** The time over which the rates are counted. */
export const RATE_WINDOW_SECONDS = 10

/** For clocks that differ: the ids are of the clocks of processes, the times of the database's. */
const CLOCKS_DIFFER_MS = 10_000

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
  const [counts] = await asService(sql)<OperationCounts[]>`
    select
      (count(*) filter (where line.phase is null))::integer as accepted,
      (count(*) filter (where line.reached = 'finished'))::integer as completed
    from tenants
    join phase_runs as line on line.tenant_id = tenants.id and line.id >= ${oldest}
    where line.recorded_at > now() - ${RATE_WINDOW_SECONDS} * interval '1 second'
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
  const began = await asService(sql)<BegunEpoch[]>`
    select tenant_id, payment_id, operation_id, lease_epoch, min(recorded_at) as at
    from (
      select tenant_id, payment_id, operation_id, lease_epoch, recorded_at from phase_runs
      where lease_epoch > 1 and id >= ${oldest}
      order by id desc
      limit ${LATER_LINES_MAX}
    ) as later
    group by tenant_id, payment_id, operation_id, lease_epoch
  `
  const before = await listLinesBefore(sql, began)
  return before.flatMap(({ reached, seconds }) => (reached === null ? [] : [Math.max(seconds, 0)]))
}

type BegunEpoch = Pick<
  RowOf<typeof phaseRuns>,
  'tenant_id' | 'payment_id' | 'operation_id' | 'lease_epoch'
> & {
  /** As PostgreSQL shows it, in microseconds. */
  readonly at: string
}

/** The last line before each of the epochs, and how long before it was recorded. */
async function listLinesBefore(sql: Sql | Transaction, began: readonly BegunEpoch[]) {
  if (began.length === 0) return []
  return await asService(sql)<{ reached: string | null; seconds: number }[]>`
    select distinct on (run.tenant_id, run.operation_id, began.lease_epoch)
      run.reached, extract(epoch from began.at - run.recorded_at)::float8 as seconds
    from jsonb_to_recordset(${JSON.stringify(began)}::jsonb) as began (
      tenant_id uuid, payment_id uuid, operation_id uuid, lease_epoch integer, at timestamptz
    )
    join phase_runs as run
      on run.tenant_id = began.tenant_id and run.payment_id = began.payment_id
      and run.operation_id = began.operation_id and run.lease_epoch < began.lease_epoch
    order by run.tenant_id, run.operation_id, began.lease_epoch,
      run.recorded_at desc, run.started_at desc, run.id desc
  `
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
  const rows = await asService(sql)<WaitingTenant[]>`
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
  `
  return rows.toSorted((one, other) => other.operations - one.operations)
}
