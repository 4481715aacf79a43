// Samples a soak with faults every few seconds: answers and their latency, unfinished operations,
// and the memory of the processes.
import { readMemory } from '../../../bench/soak/samples.ts'
import { spreadOf } from '../../../bench/spread.ts'
import type { Lane } from '../lane.ts'
import type { Merchant } from '../merchant.ts'
import type { Load } from './load.ts'

export interface Sample {
  /** Since the soak began. */
  readonly seconds: number
  readonly answersPerSecond: number
  /** Null when there was no answer. */
  readonly p50Ms: number | null
  readonly p99Ms: number | null
  /** Null when the store was away. */
  readonly unfinished: number | null
  readonly oldestUnfinishedSeconds: number | null
  /** Null while the process is being replaced. */
  readonly apiMemoryBytes: number | null
  readonly workerMemoryBytes: number | null
}

export interface Unfinished {
  readonly count: number
  readonly oldestSeconds: number
}

const SAMPLES = 120
const SECONDS_MIN = 2

interface SamplerOptions {
  readonly lane: Lane
  readonly merchant: Merchant
  readonly load: Load
  /** How long the soak is. */
  readonly seconds: number
}

export class Sampler {
  readonly beganAt = performance.now()
  readonly samples: Sample[] = []
  readonly #options: SamplerOptions
  readonly #everySeconds: number

  constructor(options: SamplerOptions) {
    this.#options = options
    this.#everySeconds = Math.max(SECONDS_MIN, options.seconds / SAMPLES)
  }

  /** Since the soak began. */
  get seconds(): number {
    return (performance.now() - this.beganAt) / 1_000
  }

  async takeIfDue(): Promise<void> {
    const sinceLast = this.seconds - (this.samples.at(-1)?.seconds ?? 0)
    if (sinceLast < this.#everySeconds) return
    const { lane, load } = this.#options
    const times = load.takeTimes()
    const { median, p99 } = spreadOf(times)
    const [unfinished, apiMemoryBytes, workerMemoryBytes] = await Promise.all([
      readUnfinished(lane, new Date()).catch(() => undefined),
      readMemory(lane.process('api').pid).catch(() => null),
      readMemory(lane.process('worker').pid).catch(() => null),
    ])
    this.samples.push({
      seconds: this.seconds,
      answersPerSecond: times.length / sinceLast,
      p50Ms: times.length === 0 ? null : median,
      p99Ms: times.length === 0 ? null : p99,
      unfinished: unfinished?.count ?? null,
      oldestUnfinishedSeconds: unfinished?.oldestSeconds ?? null,
      apiMemoryBytes,
      workerMemoryBytes,
    })
  }
}

/** The operations that began up to that moment and have not ended. */
export async function readUnfinished(
  { owner: { sql } }: Pick<Lane, 'owner'>,
  by: Date,
): Promise<Unfinished> {
  const [row] = await sql<{ count: number; oldest: number }[]>`
    select
      count(*)::int as count,
      coalesce(extract(epoch from now() - min(created_at)), 0)::float8 as oldest
    from idempotency_keys
    where status in ('pending', 'processing', 'unknown') and created_at <= ${by.toISOString()}
  `
  return { count: row?.count ?? 0, oldestSeconds: Math.max(0, row?.oldest ?? 0) }
}

const DESCRIBED = 5

/** Describes the oldest unfinished operations, to find out why they are unfinished. */
export async function describeUnfinished(
  { owner: { sql } }: Pick<Lane, 'owner'>,
  by: Date,
): Promise<string[]> {
  const rows = await sql`
    select
      key.operation, key.status, key.recovery_point, key.attempts, key.in_doubt, key.last_error,
      now() - key.created_at as age, key.lease_expires_at - now() as leased_for,
      key.next_check_at - now() as checked_in, job.state as job, job.start_after - now() as job_in
    from idempotency_keys as key
    left join atomic_jobs.job on job.id = key.job_id
    where key.status in ('pending', 'processing', 'unknown') and key.created_at <= ${by.toISOString()}
    order by key.created_at
    limit ${DESCRIBED}
  `
  return rows.map((row) => JSON.stringify(row))
}
