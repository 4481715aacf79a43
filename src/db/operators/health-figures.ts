// Reads the health figures, which show whether something is stuck: how much work waits, and for how
// long. One statement reads a few rows of partial indexes, however many completed keys exist.
import type { Fragment, Sql, Transaction } from '../connection/client.ts'
import { withinMs } from '../connection/deadline.ts'
import { JOB_SCHEMA } from '../queue/queues.ts'
import { seesEveryTenant } from '../connection/row-security.ts'
import { inService } from '../connection/transaction.ts'

export interface HealthFigures {
  readonly findingsOpen: number
  readonly pending: number
  readonly processing: number
  readonly unknown: number
  /**
   * The age of the oldest pending or processing operation; 0 when there is none. The same applies
   * below.
   */
  readonly oldestUnfinishedSeconds: number
  readonly oldestUnknownSeconds: number
  /**
   * The jobs of each queue that are due and that no worker has fetched, without the dead letters.
   */
  readonly queues: Readonly<Record<string, number>>
  readonly deadLetters: Readonly<Record<string, number>>
  /** The disputes that are not closed, by status. */
  readonly disputes: Readonly<Record<string, number>>
  /** The webhook endpoints whose circuit is not closed, and the disabled ones. */
  readonly pausedEndpoints: number
  readonly disabledEndpoints: number
}

interface FiguresRow {
  findings_open: number
  pending: number
  processing: number
  unknown: number
  oldest_unfinished_seconds: number
  oldest_unknown_seconds: number
  queues: { name: string; holds_dead_letters: boolean; jobs: number }[]
  disputes: Record<string, number>
  paused_endpoints: number
  disabled_endpoints: number
}

/** Monitoring must not add load: a slower statement is cancelled. */
const STATEMENT_LIMIT_MS = 1_000

/** The same limit for a store that does not answer. */
const STORE_LIMIT_MS = 2_000

/**
 * Reads figures in one transaction.
 *
 * @throws StoreTimeoutError or the driver's error when the store does not answer within two
 *   seconds.
 */
export async function readWithinLimits<Figures>(
  sql: Sql,
  read: (tx: Transaction) => Promise<Figures>,
): Promise<Figures> {
  return await withinMs(
    STORE_LIMIT_MS,
    inService(sql, async (tx) => {
      await tx`select set_config('statement_timeout', ${String(STATEMENT_LIMIT_MS)}, true)`
      return await read(tx)
    }),
  )
}

/**
 * Reads the figures.
 *
 * @throws as `readWithinLimits`.
 */
export async function readHealthFigures(sql: Sql): Promise<HealthFigures> {
  return await readWithinLimits(sql, selectHealthFigures)
}

/** Reads the figures in a transaction with limits. */
export async function selectHealthFigures(tx: Transaction): Promise<HealthFigures> {
  const [row] = await tx<FiguresRow[]>`${healthFigures(tx)}`
  if (row === undefined) throw new Error('a select without a table returned no row')
  const countJobs = (deadLetters: boolean) =>
    Object.fromEntries(
      row.queues
        .filter((queue) => queue.holds_dead_letters === deadLetters)
        .map(({ name, jobs }) => [name, jobs]),
    )
  return {
    findingsOpen: row.findings_open,
    pending: row.pending,
    processing: row.processing,
    unknown: row.unknown,
    oldestUnfinishedSeconds: row.oldest_unfinished_seconds,
    oldestUnknownSeconds: row.oldest_unknown_seconds,
    queues: countJobs(false),
    deadLetters: countJobs(true),
    disputes: row.disputes,
    pausedEndpoints: row.paused_endpoints,
    disabledEndpoints: row.disabled_endpoints,
  }
}

/** The statement. Each count stops at 10000: beyond that, the age is the useful figure. */
export function healthFigures(sql: Sql | Transaction): Fragment {
  // Each subquery reads the end of its index that holds the oldest rows. Unknown operations without
  // a next check, which only a person can resolve, are older than the others.
  return sql`
    with unfinished as (
      select status, created_at from idempotency_keys
      where status in ('pending', 'processing')
      order by created_at
      limit 10000
    ),
    unknown as (
      select unknown_at from idempotency_keys
      where status = 'unknown'
      order by next_check_at desc
      limit 10000
    ),
    dispute as (
      select status from disputes
      where status not in ('warning_closed', 'won', 'lost', 'prevented')
      limit 10000
    ),
    endpoint as (
      select status from webhook_endpoints
      where status = 'disabled' or (status = 'enabled' and paused_until is not null)
      limit 10000
    ),
    finding as (
      select from reconciliation_findings where status = 'open' limit 10000
    )
    select
      (select count(*)::integer from finding) as findings_open,
      (select count(*)::integer from unfinished where status = 'pending') as pending,
      (select count(*)::integer from unfinished where status = 'processing') as processing,
      (select count(*)::integer from unknown) as unknown,
      (select count(*)::integer from endpoint where status = 'enabled') as paused_endpoints,
      (select count(*)::integer from endpoint where status = 'disabled') as disabled_endpoints,
      ${secondsSince(sql, sql`select min(created_at) from unfinished`)} as oldest_unfinished_seconds,
      ${secondsSince(sql, sql`select min(unknown_at) from unknown`)} as oldest_unknown_seconds,
      (${queueSizes(sql)}) as queues,
      (
        select coalesce(jsonb_object_agg(status, counted), '{}')
        from (select status, count(*) as counted from dispute group by status) as by_status
      ) as disputes
    where ${seesEveryTenant(sql)}
  `
}

function secondsSince(sql: Sql | Transaction, moment: Fragment): Fragment {
  return sql`greatest(coalesce(extract(epoch from now() - (${moment})), 0), 0)::float8`
}

/**
 * The due jobs of each queue, by the index from which workers fetch. Active jobs are left out:
 * there are only as many as the workers' concurrency, and no index covers them.
 */
function queueSizes(sql: Sql | Transaction): Fragment {
  return sql`
    select coalesce(jsonb_agg(sized), '[]') from (
      select
        queue.name,
        exists (
          select from ${sql(JOB_SCHEMA)}.queue as source where source.dead_letter = queue.name
        ) as holds_dead_letters,
        (
          select count(*) from (
            select from ${sql(JOB_SCHEMA)}.job
            where job.name = queue.name and job.state < 'active' and not job.blocked
            and job.start_after <= now()
            limit 10000
          ) as waiting
        ) as jobs
      from ${sql(JOB_SCHEMA)}.queue
      -- The internal queues of pg-boss.
      where not starts_with(queue.name, '__pgboss')
    ) as sized
  `
}
