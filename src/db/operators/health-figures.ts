// Reads the health figures, which show whether something is stuck: how much work waits, and for how
// long. They are a few rows of partial indexes, however many completed keys exist.
import type { Sql, Transaction } from '../connection/client.ts'
import { withinMs } from '../connection/store-errors.ts'
import { JOB_SCHEMA } from '../queue/jobs.ts'
import { inService, together } from '../connection/transaction.ts'

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

/**
 * Reads the figures in a transaction with limits. Each count stops at 10000: beyond that, the age is
 * the useful figure. Each statement reads the end of its index that holds the oldest rows.
 */
export async function selectHealthFigures(tx: Transaction): Promise<HealthFigures> {
  const [findingsOpen, unfinished, unknown, queues, disputes, endpoints] = await together([
    countOpenFindings(tx),
    readUnfinished(tx),
    readUnknown(tx),
    readQueues(tx),
    readDisputes(tx),
    readEndpoints(tx),
  ])
  const countJobs = (deadLetters: boolean) =>
    Object.fromEntries(
      queues
        .filter((queue) => queue.holds_dead_letters === deadLetters)
        .map(({ name, jobs }) => [name, jobs]),
    )
  return {
    findingsOpen,
    pending: unfinished?.pending ?? 0,
    processing: unfinished?.processing ?? 0,
    unknown: unknown?.counted ?? 0,
    oldestUnfinishedSeconds: Math.max(unfinished?.seconds ?? 0, 0),
    oldestUnknownSeconds: Math.max(unknown?.seconds ?? 0, 0),
    queues: countJobs(false),
    deadLetters: countJobs(true),
    disputes: Object.fromEntries(disputes.map(({ status, counted }) => [status, counted])),
    pausedEndpoints: endpoints?.paused ?? 0,
    disabledEndpoints: endpoints?.disabled ?? 0,
  }
}

async function countOpenFindings(tx: Transaction): Promise<number> {
  const [row] = await tx<{ counted: number }[]>`
    select count(*)::integer as counted
    from (select from reconciliation_findings where status = 'open' limit 10000) as finding
  `
  return row?.counted ?? 0
}

async function readUnfinished(tx: Transaction) {
  const [row] = await tx<{ pending: number; processing: number; seconds: number | null }[]>`
    select
      (count(*) filter (where status = 'pending'))::integer as pending,
      (count(*) filter (where status = 'processing'))::integer as processing,
      extract(epoch from now() - min(created_at))::float8 as seconds
    from (
      select status, created_at from idempotency_keys
      where status in ('pending', 'processing')
      order by created_at
      limit 10000
    ) as unfinished
  `
  return row
}

/** Without a next check, which only a person can resolve, they are older than the others. */
async function readUnknown(tx: Transaction) {
  const [row] = await tx<{ counted: number; seconds: number | null }[]>`
    select count(*)::integer as counted, extract(epoch from now() - min(unknown_at))::float8 as seconds
    from (
      select unknown_at from idempotency_keys
      where status = 'unknown'
      order by next_check_at desc
      limit 10000
    ) as unknown
  `
  return row
}

/** The disputes that are not closed, by status. */
async function readDisputes(tx: Transaction) {
  return await tx<{ status: string; counted: number }[]>`
    select status, count(*)::integer as counted
    from (
      select status from disputes
      where status not in ('warning_closed', 'won', 'lost', 'prevented')
      limit 10000
    ) as dispute
    group by status
  `
}

/** The endpoints that get no webhooks now. */
async function readEndpoints(tx: Transaction) {
  const [row] = await tx<{ paused: number; disabled: number }[]>`
    select
      (count(*) filter (where status = 'enabled'))::integer as paused,
      (count(*) filter (where status = 'disabled'))::integer as disabled
    from (
      select status from webhook_endpoints
      where status = 'disabled' or (status = 'enabled' and paused_until is not null)
      limit 10000
    ) as endpoint
  `
  return row
}

/**
 * The due jobs of each queue, by the index from which workers fetch. Active jobs are left out:
 * there are only as many as the workers' concurrency, and no index covers them.
 */
async function readQueues(tx: Transaction) {
  return await tx<{ name: string; holds_dead_letters: boolean; jobs: number }[]>`
    select
      queue.name,
      exists (
        select from ${tx(JOB_SCHEMA)}.queue as source where source.dead_letter = queue.name
      ) as holds_dead_letters,
      (
        select count(*) from (
          select from ${tx(JOB_SCHEMA)}.job
          where job.name = queue.name and job.state < 'active' and not job.blocked
          and job.start_after <= now()
          limit 10000
        ) as waiting
      )::integer as jobs
    from ${tx(JOB_SCHEMA)}.queue
    -- The internal queues of pg-boss.
    where not starts_with(queue.name, '__pgboss')
  `
}
