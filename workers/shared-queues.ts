// Works on the queues that all tenants share. A worker fetches as many jobs as it has free slots, in
// turns (src/db/queue/fair-fetch.ts), and keeps some slots for tenants that have no job in progress. pg-boss
// fetches in the order of creation: one tenant's backlog would delay all others.
// See docs/decisions/0040-tenants-take-turns.md.
import { setTimeout as wait } from 'node:timers/promises'
import type { PgBoss } from 'pg-boss'
import type { Logger } from 'pino'
import type { Sql, Store } from '../src/db/connection/client.ts'
import { JOBS_CHANNEL } from '../src/db/connection/notifications.ts'
import { forbidRetries } from '../src/db/queue/jobs.ts'
import {
  fetchFairly,
  groupOf,
  mayLeaveJobs,
  type FetchedJob,
  type SharedQueue,
} from '../src/db/queue/fair-fetch.ts'
import type { SharedJobHandler } from './jobs.ts'

/** One slot for a newcomer for each four slots of all. */
const RESERVED_SHARE = 0.25

/**
 * The pause before a statement that completes jobs, so that it completes several. No client waits
 * for it. If the worker dies before, the jobs run again and find nothing to do.
 */
const COLLECT_MS = 50

interface SharedWorkerParts {
  readonly boss: Pick<PgBoss, 'complete' | 'fail'>
  /** For our own statements on jobs. */
  readonly sql: Sql
  readonly log: Pick<Logger, 'warn'>
}

export class SharedQueueWorker {
  readonly queue: SharedQueue
  readonly #parts: SharedWorkerParts
  readonly #handler: SharedJobHandler
  readonly #inProgress = new Set<FetchedJob>()
  /** The jobs in progress until their results are written. */
  readonly #unsettled = new Set<Promise<void>>()
  #completed: FetchedJob[] = []
  #completing: Promise<void> | undefined
  #after = { tenant: '', endpoint: '' }
  readonly #stopping = new AbortController()
  #waking = new AbortController()
  /** Whether to fetch again when a job ends: jobs may be waiting for its slot. */
  #mayBeWaiting = false
  readonly #running: Promise<void>

  constructor(parts: SharedWorkerParts, handler: SharedJobHandler) {
    this.queue = handler.queue
    this.#parts = parts
    this.#handler = handler
    this.#running = this.#run()
  }

  /** Fetches at once instead of at the next poll. */
  wake(): void {
    this.#waking.abort()
  }

  /**
   * Fetches no more jobs, waits until those in progress have ended, and gives back those that have
   * not after `timeoutMs`.
   */
  async stop(timeoutMs: number): Promise<void> {
    this.#stopping.abort()
    this.wake()
    await this.#running
    await Promise.race([Promise.all(this.#unsettled), wait(timeoutMs, undefined, { ref: false })])
    const left = [...this.#inProgress]
    if (left.length > 0) await this.#fail(left, { reason: 'the worker stopped' })
  }

  async #run(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      this.#waking = new AbortController()
      const mayLeaveMore = await this.#fetch().catch(this.#warn)
      if (mayLeaveMore) continue
      const { signal } = this.#waking
      await wait(1_000 * this.#handler.pollSeconds, undefined, { signal }).catch(() => {})
    }
  }

  /** Starts the jobs that it fetches. Returns false when none are left, or no slots for them. */
  async #fetch(): Promise<boolean> {
    const { concurrency, perReceiver } = this.#handler
    const reserved = Math.ceil(RESERVED_SHARE * concurrency)
    const free = concurrency + reserved - this.#inProgress.size
    const onlyReserved = free <= reserved
    const groups = [...Map.groupBy(this.#inProgress, groupOf)]
    const isFull = (jobs: FetchedJob[]) => jobs.length >= perReceiver
    const fullGroups = groups.filter(([, jobs]) => isFull(jobs)).map(([group]) => group)
    this.#mayBeWaiting = onlyReserved || fullGroups.length > 0
    if (free === 0) return false
    const most = Math.max(0, ...groups.map(([, jobs]) => (isFull(jobs) ? 0 : jobs.length)))
    const slots = onlyReserved ? free : free - reserved
    const fetched = await fetchFairly(this.#parts.sql, this.queue, {
      after: this.#after,
      slots,
      perGroup: onlyReserved ? 1 : Math.min(slots, perReceiver - most),
      fullGroups,
      ...(onlyReserved && { busyTenants: [...this.#inProgress].map(({ tenant }) => tenant) }),
    })
    for (const job of fetched) this.#start(job)
    this.#after = fetched.toSorted((one, other) => other.position - one.position)[0] ?? this.#after
    return !onlyReserved && mayLeaveJobs(fetched)
  }

  #start(job: FetchedJob): void {
    this.#inProgress.add(job)
    const settled = this.#work(job)
    this.#unsettled.add(settled)
    void settled.then(() => this.#unsettled.delete(settled))
  }

  async #work(job: FetchedJob): Promise<void> {
    const { status, output } = await this.#handler.handle(job)
    this.#inProgress.delete(job)
    if (this.#mayBeWaiting) this.wake()
    if (status === 'completed') await this.#complete(job)
    else await this.#fail([job], output, status === 'deadletter')
  }

  /** Completes in one statement the jobs that end within a short time. */
  async #complete(job: FetchedJob): Promise<void> {
    this.#completed.push(job)
    this.#completing ??= this.#completeEnded()
    await this.#completing
  }

  async #completeEnded(): Promise<void> {
    await wait(COLLECT_MS, undefined, { signal: this.#stopping.signal }).catch(() => {})
    this.#completing = undefined
    const jobs = this.#completed.splice(0)
    await this.#parts.boss.complete(this.queue, jobs).catch(this.#warn)
  }

  /** What failed between this process and the queue: the jobs concerned run again. */
  readonly #warn = (error: unknown): void => {
    this.#parts.log.warn({ err: error }, 'the job queue failed')
  }

  async #fail(jobs: FetchedJob[], output?: object, isFinal = false): Promise<void> {
    const { boss, sql } = this.#parts
    try {
      if (isFinal) await forbidRetries(sql, this.queue, jobs)
      await boss.fail(this.queue, jobs, output)
    } catch (error) {
      this.#warn(error)
    }
  }
}

/** Starts a worker for each of these queues, and wakes it when pg-boss's channel names its queue. */
export function startSharedWorkers(
  { store, ...parts }: SharedWorkerParts & { readonly store: Pick<Store, 'listen'> },
  handlers: readonly SharedJobHandler[],
): readonly SharedQueueWorker[] {
  const workers = handlers.map((handler) => new SharedQueueWorker(parts, handler))
  const wake = (queue?: string) => {
    for (const worker of workers) if (queue === undefined || queue === worker.queue) worker.wake()
  }
  // Without notifications, behind some poolers, the workers only poll. A new connection may have
  // missed some.
  if (handlers.some(({ isNotified }) => isNotified)) {
    store.listen(JOBS_CHANNEL, wake, (isListening) => isListening && wake())
  }
  return workers
}
