// What tells at a glance whether something is stuck: how much waits, and for how long. One statement that
// reads a few rows of partial indexes, however many finished keys there are.
import type { Fragment, Sql, Transaction } from '../connection/client.ts'
import { withinMs } from '../connection/deadline.ts'
import { JOB_SCHEMA } from '../queue/queues.ts'
import { seesEveryTenant } from '../connection/row-security.ts'
import { inTransaction } from '../connection/transaction.ts'

export interface HealthFigures {
  readonly findingsOpen: number
  readonly pending: number
  readonly processing: number
  readonly unknown: number
  /** Of the oldest operation that is pending or processing. 0 when there is none, as below. */
  readonly oldestUnfinishedSeconds: number
  readonly oldestUnknownSeconds: number
  /** Jobs whose time has come and that no worker has taken, for each queue but those of dead letters. */
  readonly queues: Readonly<Record<string, number>>
  readonly deadLetters: Readonly<Record<string, number>>
}

interface FiguresRow {
  findings_open: number
  pending: number
  processing: number
  unknown: number
  oldest_unfinished_seconds: number
  oldest_unknown_seconds: number
  queues: { name: string; holds_dead_letters: boolean; jobs: number }[]
}

/** Who looks at health must not harm it: what takes longer is given up. */
const STATEMENT_LIMIT_MS = 1_000

/** As above, for a store that says nothing at all. */
const STORE_LIMIT_MS = 2_000

/**
 * Reads the figures.
 *
 * @throws StoreTimeoutError or the driver's error when the store does not answer within two seconds.
 */
export async function readHealthFigures(sql: Sql): Promise<HealthFigures> {
  const row = await withinMs(
    STORE_LIMIT_MS,
    inTransaction(sql, async (tx) => {
      await tx`select set_config('statement_timeout', ${String(STATEMENT_LIMIT_MS)}, true)`
      const [figures] = await tx<FiguresRow[]>`${healthFigures(tx)}`
      return figures
    }),
  )
  if (row === undefined) throw new Error('a select without a table returned no row')
  const countsOf = (deadLetters: boolean) =>
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
    queues: countsOf(false),
    deadLetters: countsOf(true),
  }
}

/** The statement. Each count ends at 10000: what waits beyond that is told by its age. */
export function healthFigures(sql: Sql | Transaction): Fragment {
  // Read from the ends of their indexes at which the oldest are. Those among the unknown that only a
  // person can help have no next check, and are older than the others.
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
    finding as (
      select from reconciliation_findings where status = 'open' limit 10000
    )
    select
      (select count(*)::integer from finding) as findings_open,
      (select count(*)::integer from unfinished where status = 'pending') as pending,
      (select count(*)::integer from unfinished where status = 'processing') as processing,
      (select count(*)::integer from unknown) as unknown,
      ${secondsSince(sql, sql`select min(created_at) from unfinished`)} as oldest_unfinished_seconds,
      ${secondsSince(sql, sql`select min(unknown_at) from unknown`)} as oldest_unknown_seconds,
      (${queueSizes(sql)}) as queues
    where ${seesEveryTenant(sql)}
  `
}

function secondsSince(sql: Sql | Transaction, moment: Fragment): Fragment {
  return sql`greatest(coalesce(extract(epoch from now() - (${moment})), 0), 0)::float8`
}

/**
 * The jobs of each queue whose time has come, by the index from which workers fetch. Those that a worker
 * has are left out: there are as many as its concurrency, and no index.
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
      -- The queues that pg-boss keeps for itself.
      where not starts_with(queue.name, '__pgboss')
    ) as sized
  `
}
