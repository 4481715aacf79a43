// Reads the overview of operators: the figures of the alerts, what the service does now, and which
// processes run. All viewers of a process share one reading. Each statement reads a bounded number of rows
// by an index.
import type { Sql, Transaction } from '../../db/connection/client.ts'
import { firstIdAt, objectsOf } from '../../db/connection/rows.ts'
import { together } from '../../db/connection/transaction.ts'
import type { serviceProcesses } from '../../db/schema/service.ts'
import { ALIVE_SECONDS } from '../../domain/deployment/service-process.ts'
import { readWithinLimits, selectHealthFigures, sharedFor } from '../../metrics/store-gauges.ts'
import { countProposedOperations } from './operations-search.ts'
import { listOpenProposals } from './claims.ts'

/** How long a reading is shown. */
const KEPT_MS = 1_000

/** Returns a function that reads the overview at most once a second. It throws as `readWithinLimits` does. */
export const createOverviewReader = (
  sql: Sql,
  monotonicMs: () => number,
): (() => Promise<object>) =>
  sharedFor(KEPT_MS, monotonicMs, () => readWithinLimits(sql, readOverview))

/** With the names of the fields of the answer. */
async function readOverview(tx: Transaction): Promise<object> {
  const [row] = await tx<{ now: string }[]>`select now()`
  const at = new Date(row?.now ?? 0)
  const [health, rates, recovery, waitingByTenant, proposals, processes] = await together([
    selectHealthFigures(tx),
    countRecentOperations(tx, at),
    readTakeovers(tx, at),
    listWaitingTenants(tx),
    listOpenProposals(tx, at),
    listProcesses(tx),
  ])
  const { pending, processing, pausedEndpoints: paused, disabledEndpoints: disabled } = health
  return {
    at,
    ...health,
    rates,
    recovery,
    unfinished: { pending, processing },
    proposed: await countProposedOperations(tx, proposals),
    waitingByTenant,
    endpoints: { paused, disabled },
    processes,
    circuits: processes.filter(({ alive }) => alive).flatMap(circuitsOf),
  }
}

/** The time over which the rates are counted. */
export const RATE_WINDOW_SECONDS = 10

/** For clocks that differ: the ids are of the clocks of processes, the times of the database's. */
const CLOCKS_DIFFER_MS = 10_000

/**
 * The rates at which operations were accepted and completed during the last seconds, by the first and
 * the last lines of their timelines. Those that call no provider have none.
 */
export async function countRecentOperations(tx: Transaction, now: Date): Promise<object> {
  const oldest = firstIdAt(now.getTime() - RATE_WINDOW_SECONDS * 1_000 - CLOCKS_DIFFER_MS)
  const [rates] = await tx<[object]>`
    select
      (count(*) filter (where line.phase is null))::float8 / ${RATE_WINDOW_SECONDS} as accepted_per_second,
      (count(*) filter (where line.reached = 'finished'))::float8 / ${RATE_WINDOW_SECONDS} as completed_per_second
    from tenants
    join phase_runs as line on line.tenant_id = tenants.id and line.id >= ${oldest}
    where line.recorded_at > now() - ${RATE_WINDOW_SECONDS} * interval '1 second'
  `
  return rates
}

/** The time in which takeovers are looked for. */
export const TAKEOVER_WINDOW_SECONDS = 60 * 60

/** The newest lines of later lease epochs that are read. */
const LATER_LINES_MAX = 500

/**
 * How many takeovers there were in the last hour, and for how many seconds the timelines of their operations
 * stood still. A takeover is a lease epoch after the first whose previous one did not record how it ended:
 * its last line, or that of the intent, has reached a recovery point. An epoch that ended without a
 * final outcome, and is only tried again, has recorded that.
 */
export async function readTakeovers(tx: Transaction, now: Date): Promise<object> {
  const oldest = firstIdAt(now.getTime() - TAKEOVER_WINDOW_SECONDS * 1_000)
  const began = await tx`
    select tenant_id, payment_id, operation_id, lease_epoch, min(recorded_at) as at
    from (
      select tenant_id, payment_id, operation_id, lease_epoch, recorded_at from phase_runs
      where lease_epoch > 1 and id >= ${oldest}
      order by id desc
      limit ${LATER_LINES_MAX}
    ) as later
    group by tenant_id, payment_id, operation_id, lease_epoch
  `
  if (began.length === 0) return { takeovers: 0, p50_seconds: null, max_seconds: null }
  const [figures] = await tx<[object]>`
    select
      count(*)::integer as takeovers,
      percentile_disc(0.5) within group (order by seconds) as p50_seconds,
      max(seconds) as max_seconds
    from (
      -- The last line before each of the epochs.
      select distinct on (run.tenant_id, run.operation_id, began.lease_epoch)
        run.reached,
        greatest(extract(epoch from began.at - run.recorded_at), 0)::float8 as seconds
      from jsonb_to_recordset(${JSON.stringify(began)}::jsonb) as began (
        tenant_id uuid, payment_id uuid, operation_id uuid, lease_epoch integer, at timestamptz
      )
      join phase_runs as run
        on run.tenant_id = began.tenant_id and run.payment_id = began.payment_id
        and run.operation_id = began.operation_id and run.lease_epoch < began.lease_epoch
      order by run.tenant_id, run.operation_id, began.lease_epoch,
        run.recorded_at desc, run.started_at desc, run.id desc
    ) as before
    where reached is not null
  `
  return figures
}

const TENANTS_SHOWN_MAX = 10

/** The tenants with the most unfinished operations, among the 10000 oldest. */
export async function listWaitingTenants(tx: Transaction): Promise<object[]> {
  return await tx<object[]>`
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
    order by waiting.operations desc, tenants.id
  `
}

/** A process, with its last report. */
type SeenProcess = Readonly<typeof serviceProcesses.$inferSelect> & {
  readonly alive: boolean
}

/** More than a large deployment has. */
const PROCESSES_SHOWN_MAX = 100

/** The processes that reported themselves in the last hour, those that did last first. */
export async function listProcesses(sql: Sql | Transaction): Promise<SeenProcess[]> {
  const seen = await sql`
    select *, seen_at > now() - ${ALIVE_SECONDS} * interval '1 second' as alive
    from service_processes
    order by seen_at desc, id desc
    limit ${PROCESSES_SHOWN_MAX}
  `
  return objectsOf<SeenProcess>(seen)
}

function circuitsOf({ id, circuits, seenAt }: SeenProcess): object[] {
  return circuits.map(({ seconds, ...reported }) => ({
    ...reported,
    process: id,
    since: new Date(seenAt.getTime() - seconds * 1_000),
  }))
}
