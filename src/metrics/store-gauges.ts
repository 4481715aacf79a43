// Exports the health figures of the store as gauges: how much work waits, and for how long. They are a
// few rows of partial indexes, however many completed keys exist.
import type { Sql, Transaction } from '../db/connection/client.ts'
import { withinMs } from '../db/connection/store-errors.ts'
import { inService, together } from '../db/connection/transaction.ts'
import { JOB_SCHEMA } from '../db/queue/jobs.ts'
import type { GaugeValues, Metrics } from './metrics.ts'

/** Shorter than the interval of any scraper, so that a single scraper always gets a fresh reading. */
const KEPT_MS = 5_000

/** @param read rejects when the store does not answer; then the gauges are absent. */
export function exportStoreGauges(
  metrics: Metrics,
  read: () => Promise<HealthFigures>,
  monotonicMs: () => number,
): void {
  // The store's users log why it does not answer.
  metrics.exportGauges(sharedFor(KEPT_MS, monotonicMs, () => read().then(gaugesOf, () => ({}))))
}

/**
 * Returns a function that reads at most once in that time, and never concurrently: until a reading ends,
 * all callers wait for it.
 */
export function sharedFor<Value>(
  keptMs: number,
  monotonicMs: () => number,
  read: () => Promise<Value>,
): () => Promise<Value> {
  let reading: Promise<Value> | undefined
  let readAtMs = 0
  return () => {
    if (reading === undefined || monotonicMs() - readAtMs >= keptMs) {
      readAtMs = Infinity
      reading = read().finally(() => (readAtMs = monotonicMs()))
    }
    return reading
  }
}

export interface HealthFigures {
  readonly findingsOpen: number
  readonly pending: number
  readonly processing: number
  readonly unknown: number
  /** The age of the oldest pending or processing operation; 0 when there is none, as below. */
  readonly oldestUnfinishedSeconds: number
  readonly oldestUnknownSeconds: number
  /** The jobs of each queue that are due and that no worker has fetched, without the dead letters. */
  readonly queues: Readonly<Record<string, number>>
  readonly deadLetters: Readonly<Record<string, number>>
  /** The disputes that are not closed, by status. */
  readonly disputes: Readonly<Record<string, number>>
  /** The webhook endpoints whose circuit is not closed, and the disabled ones. */
  readonly pausedEndpoints: number
  readonly disabledEndpoints: number
}

function gaugesOf(figures: HealthFigures): GaugeValues {
  const { pending, processing, unknown } = figures
  const { pausedEndpoints: paused, disabledEndpoints: disabled } = figures
  return {
    findings_open: [{ labels: {}, value: figures.findingsOpen }],
    disputes: labelled('status', figures.disputes),
    operations: labelled('status', { pending, processing, unknown }),
    oldest_unfinished_operation_seconds: [{ labels: {}, value: figures.oldestUnfinishedSeconds }],
    oldest_unknown_operation_seconds: [{ labels: {}, value: figures.oldestUnknownSeconds }],
    webhook_endpoints_stopped: labelled('state', { paused, disabled }),
    queue_depth: labelled('queue', figures.queues),
    dead_letters: labelled('queue', figures.deadLetters),
  }
}

function labelled<Label extends string>(label: Label, values: Readonly<Record<string, number>>) {
  return Object.entries(values).map(([name, value]) => ({
    labels: { [label]: name } as Record<Label, string>,
    value,
  }))
}

/** Monitoring must not add load: a slower statement is cancelled. */
const STATEMENT_LIMIT_MS = 1_000

/** The same limit for a store that does not answer. */
const STORE_LIMIT_MS = 2_000

/**
 * Reads figures in one transaction.
 *
 * @throws StoreTimeoutError or the driver's error when the store does not answer within two seconds.
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

/** @throws as `readWithinLimits`. */
export const readHealthFigures = (sql: Sql): Promise<HealthFigures> =>
  readWithinLimits(sql, selectHealthFigures)

export async function selectHealthFigures(tx: Transaction): Promise<HealthFigures> {
  const [[findings], [unfinished], [unknown], queues, disputes, [endpoints]] = await together([
    countOpenFindings(tx),
    readUnfinished(tx),
    readUnknown(tx),
    readQueues(tx),
    readDisputes(tx),
    readEndpoints(tx),
  ])
  const ofQueues = Map.groupBy(queues, (queue) => queue.holds_dead_letters)
  return {
    ...findings,
    ...unfinished,
    ...unknown,
    ...endpoints,
    queues: countsOf(ofQueues.get(false)),
    deadLetters: countsOf(ofQueues.get(true)),
    disputes: countsOf(disputes),
  }
}

interface Count {
  readonly name: string
  readonly counted: number
}

const countsOf = (counts: readonly Count[] = []): Readonly<Record<string, number>> =>
  Object.fromEntries(counts.map(({ name, counted }) => [name, counted]))

/** One row with these figures. */
type OneOf<Name extends keyof HealthFigures> = [Pick<HealthFigures, Name>]

const countOpenFindings = async (tx: Transaction) =>
  await tx<OneOf<'findingsOpen'>>`
    select count(*)::integer as "findingsOpen"
    from (select from reconciliation_findings where status = 'open' limit 10000) as finding
  `

const readUnfinished = async (tx: Transaction) =>
  await tx<OneOf<'pending' | 'processing' | 'oldestUnfinishedSeconds'>>`
    select
      (count(*) filter (where status = 'pending'))::integer as pending,
      (count(*) filter (where status = 'processing'))::integer as processing,
      greatest(extract(epoch from now() - min(created_at)), 0)::float8 as "oldestUnfinishedSeconds"
    from (
      select status, created_at from idempotency_keys
      where status in ('pending', 'processing')
      order by created_at
      limit 10000
    ) as unfinished
  `

/** Without a next check, which only a person can resolve, they are older than the others. */
const readUnknown = async (tx: Transaction) =>
  await tx<OneOf<'unknown' | 'oldestUnknownSeconds'>>`
    select
      count(*)::integer as unknown,
      greatest(extract(epoch from now() - min(unknown_at)), 0)::float8 as "oldestUnknownSeconds"
    from (
      select unknown_at from idempotency_keys
      where status = 'unknown'
      order by next_check_at desc
      limit 10000
    ) as outcomes
  `

const readDisputes = async (tx: Transaction) =>
  await tx<Count[]>`
    select status as name, count(*)::integer as counted
    from (
      select status from disputes
      where status not in ('warning_closed', 'won', 'lost', 'prevented')
      limit 10000
    ) as dispute
    group by status
  `

/** The endpoints that get no webhooks now. */
const readEndpoints = async (tx: Transaction) =>
  await tx<OneOf<'pausedEndpoints' | 'disabledEndpoints'>>`
    select
      (count(*) filter (where status = 'enabled'))::integer as "pausedEndpoints",
      (count(*) filter (where status = 'disabled'))::integer as "disabledEndpoints"
    from (
      select status from webhook_endpoints
      where status = 'disabled' or (status = 'enabled' and paused_until is not null)
      limit 10000
    ) as endpoint
  `

/**
 * The due jobs of each queue, by the index from which workers fetch. Active jobs are left out:
 * there are only as many as the workers' concurrency, and no index covers them.
 */
const readQueues = async (tx: Transaction) =>
  await tx<(Count & { holds_dead_letters: boolean })[]>`
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
      )::integer as counted
    from ${tx(JOB_SCHEMA)}.queue
    -- The internal queues of pg-boss.
    where not starts_with(queue.name, '__pgboss')
  `
