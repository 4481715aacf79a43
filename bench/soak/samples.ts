// Takes a sample every few seconds of a soak: memory and processor time, table sizes and dead rows,
// the age of the oldest work, and the latency since the previous sample.
import { readFile } from 'node:fs/promises'
import type { Sql } from '../../src/db/connection/client.ts'
import { JOB_SCHEMA, OPERATIONS_QUEUE } from '../../src/db/queue/jobs.ts'
import { cpuMsOf, readMachineBusy } from '../cpu.ts'
import { spreadOf } from '../spread.ts'
import { trafficKinds, type TrafficReport, type TrafficKind } from './traffic.ts'

export interface TableSize {
  /** Includes TOAST, excludes indexes. */
  readonly tableBytes: number
  readonly indexBytes: number
  readonly deadRows: number
}

interface Latency {
  readonly p50: number
  readonly p99: number
}

export interface Sample {
  /** Since the load began. */
  readonly seconds: number
  /** Answers since the load began. */
  readonly answers: number
  /** Payments that have succeeded since the load began. */
  readonly payments: number
  readonly apiMemoryBytes: number
  readonly workerMemoryBytes: number
  /** Processor time since the processes started, including their children. */
  readonly nodeCpuMs: number
  readonly postgresCpuMs: number
  /** Time of all cores since boot, and the part used by processes outside this run. */
  readonly machineMs: number
  readonly othersMs: number
  readonly oldestJobSeconds: number
  readonly oldestUnfinishedSeconds: number
  readonly tables: Readonly<Record<string, TableSize>>
  /** Null for a kind without an answer since the previous sample. */
  readonly latencyMs: Readonly<Record<TrafficKind, Latency | null>>
}

/** Tables whose rows are deleted or updated in place: they reach a size and keep it. */
export const steadyTables = ['idempotency_keys', `${JOB_SCHEMA}.job`, 'rate_limits'] as const

/** Tables that keep history: each payment adds the same amount. */
export const historyTables = [
  'payments',
  'refunds',
  'events',
  'phase_runs',
  'ledger_postings',
  'key_tombstones',
] as const

export interface SampleTarget {
  readonly owner: Sql
  readonly apiPid: number
  readonly workerPid: number
  readonly postgresPid: number
}

export async function takeSample(
  target: SampleTarget,
  seconds: number,
  traffic: TrafficReport,
): Promise<Sample> {
  const { owner, apiPid, workerPid } = target
  const [apiMemoryBytes, workerMemoryBytes, cpu, tables, oldest] = await Promise.all([
    readMemory(apiPid),
    readMemory(workerPid),
    readCpu(target),
    readTables(owner),
    readOldest(owner),
  ])
  return {
    seconds,
    answers: traffic.answers,
    payments: traffic.payments,
    apiMemoryBytes,
    workerMemoryBytes,
    ...cpu,
    ...oldest,
    tables,
    latencyMs: latencyOf(traffic),
  }
}

/**
 * Every process of the run is a child of this process, so the rest of the busy time belongs to
 * others.
 */
async function readCpu({ apiPid, workerPid, postgresPid }: SampleTarget) {
  const [nodeCpuMs, postgresCpuMs, ownMs, machine] = await Promise.all([
    cpuMsOf([apiPid, workerPid]),
    cpuMsOf([postgresPid]),
    cpuMsOf([process.pid]),
    readMachineBusy(),
  ])
  return { nodeCpuMs, postgresCpuMs, machineMs: machine.allMs, othersMs: machine.busyMs - ownMs }
}

function latencyOf({ timesMs }: TrafficReport): Sample['latencyMs'] {
  const spreads = trafficKinds.map((kind) => {
    if (timesMs[kind].length === 0) return [kind, null]
    const { median, p99 } = spreadOf(timesMs[kind])
    return [kind, { p50: median, p99 }]
  })
  return Object.fromEntries(spreads) as Sample['latencyMs']
}

const BYTES_PER_KB = 1_024

/** Returns the resident memory of a process in bytes. */
async function readMemory(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * BYTES_PER_KB
}

/** Reads the table sizes. The size of a partitioned table is the sum of its partitions. */
async function readTables(sql: Sql): Promise<Sample['tables']> {
  const names = [...steadyTables, ...historyTables]
  const rows = await sql<{ name: string; table: number; indexes: number; dead: number }[]>`
    select
      root.name,
      sum(pg_table_size(part.id))::float8 as table,
      sum(pg_indexes_size(part.id))::float8 as indexes,
      coalesce(sum(stat.n_dead_tup), 0)::float8 as dead
    from unnest(${names}::text[]) as root (name)
    cross join lateral (
      select root.name::regclass::oid as id
      union all
      select inhrelid from pg_inherits where inhparent = root.name::regclass
    ) as part
    left join pg_stat_user_tables as stat on stat.relid = part.id
    group by root.name
  `
  return Object.fromEntries(
    rows.map(({ name, table, indexes, dead }) => [
      name,
      { tableBytes: table, indexBytes: indexes, deadRows: dead },
    ]),
  )
}

async function readOldest(
  sql: Sql,
): Promise<Pick<Sample, 'oldestJobSeconds' | 'oldestUnfinishedSeconds'>> {
  const [row] = await sql<{ job: number; unfinished: number }[]>`
    select
      coalesce(extract(epoch from now() - (
        select min(start_after) from ${sql(JOB_SCHEMA)}.job
        where name = ${OPERATIONS_QUEUE} and state < 'active' and start_after <= now()
      )), 0)::float8 as job,
      coalesce(extract(epoch from now() - (
        select min(created_at) from idempotency_keys
        where status in ('pending', 'processing')
      )), 0)::float8 as unfinished
  `
  return {
    oldestJobSeconds: notBelowZero(row?.job),
    oldestUnfinishedSeconds: notBelowZero(row?.unfinished),
  }
}

/** A row that is newer than the statement's `now()` has a negative age. */
function notBelowZero(seconds = 0): number {
  return Math.max(0, seconds)
}
