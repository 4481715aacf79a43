// Works on the jobs of a queue that all tenants share. It fetches as many jobs as it has free
// places, in turns between the tenants (src/db/queue/turns.ts), and keeps some places for tenants
// that have no job in progress. pg-boss fetches in the order of creation: one tenant's backlog
// would delay all others.
import { setTimeout as wait } from 'node:timers/promises'
import type { JobResult, PgBoss } from 'pg-boss'
import type { JobStore } from '../src/db/queue/job-store.ts'
import {
  fetchInTurn,
  forbidRetries,
  mayLeaveJobs,
  type FetchedJob,
  type SharedQueue,
} from '../src/db/queue/turns.ts'
import { Lanes, type LaneLimits } from './lanes.ts'

/**
 * The pause before a statement that completes jobs, so that it completes several. No client waits
 * for it. If the worker dies before, the jobs run again and find nothing to do.
 */
const COLLECT_MS = 50

export interface SharedQueueOptions {
  readonly queue: SharedQueue
  /** How many jobs any tenants may have in progress. */
  readonly sharedPlaces: number
  /** How many more places there are for a first job of tenants without jobs in progress. */
  readonly reservedPlaces: number
  readonly lanes: LaneLimits
  readonly pollMs: number
  /** Never throws. */
  readonly handle: (job: FetchedJob) => Promise<JobResult<object | undefined>>
  /** What failed between this process and the queue. The jobs concerned run again. */
  readonly onError: (error: unknown) => void
}

export class SharedQueueWorker {
  readonly queue: SharedQueue
  readonly #boss: PgBoss
  readonly #jobs: JobStore
  readonly #options: SharedQueueOptions
  readonly #lanes: Lanes
  readonly #inProgress = new Set<FetchedJob>()
  /** The jobs in progress until their results are written. */
  readonly #unsettled = new Set<Promise<void>>()
  #completed: FetchedJob[] = []
  #completing = Promise.resolve()
  #after = ''
  readonly #stopping = Promise.withResolvers<void>()
  #isStopping = false
  /** Whether to fetch again when a job ends: jobs may be waiting for its place. */
  #mayBeWaiting = false
  #isWoken = false
  #endPause = () => {}
  readonly #running: Promise<void>

  constructor(boss: PgBoss, jobs: JobStore, options: SharedQueueOptions) {
    this.queue = options.queue
    this.#boss = boss
    this.#jobs = jobs
    this.#options = options
    this.#lanes = new Lanes(options.lanes)
    this.#running = this.#run()
  }

  /** Fetches at once instead of at the next poll. */
  wake(): void {
    this.#isWoken = true
    this.#endPause()
  }

  /**
   * Fetches no more jobs, waits until those in progress have ended, and gives back those that have
   * not after `timeoutMs`.
   */
  async stop(timeoutMs: number): Promise<void> {
    this.#isStopping = true
    this.#stopping.resolve()
    this.wake()
    await this.#running
    await Promise.race([Promise.all(this.#unsettled), wait(timeoutMs, undefined, { ref: false })])
    const left = [...this.#inProgress]
    if (left.length > 0) await this.#fail(left, { reason: 'the worker stopped' })
  }

  async #run(): Promise<void> {
    while (!this.#isStopping) {
      this.#isWoken = false
      const mayLeaveMore = await this.#fetch()
      if (!mayLeaveMore) await this.#pause()
    }
  }

  /** Starts the jobs that it fetches. Returns false when none are left, or no places for them. */
  async #fetch(): Promise<boolean> {
    const { sharedPlaces, reservedPlaces, lanes } = this.#options
    const nowMs = performance.now()
    const takenPlaces = this.#inProgress.size - this.#givenUpPlaces(nowMs)
    const freePlaces = Math.max(0, sharedPlaces + reservedPlaces - takenPlaces)
    const { busyTenants, busyLanes } = this.#lanes
    const fullLanes = this.#lanes.fullLanes(nowMs)
    this.#mayBeWaiting = freePlaces <= reservedPlaces || fullLanes.length > 0
    if (freePlaces === 0) return false
    const busy = { busyTenants, busyLanes, fullLanes }
    const perLane = Math.min(lanes.initialWindow, freePlaces)
    const room = { after: this.#after, freePlaces, reservedPlaces, perLane, ...busy }
    try {
      const fetched = await fetchInTurn(this.#jobs.sql, this.queue, room)
      for (const job of fetched) this.#start(job)
      this.#after = lastTenant(fetched) ?? this.#after
      const mayLeaveMore = mayLeaveJobs(fetched, room)
      if (!this.#mayBeWaiting && !mayLeaveMore) this.#lanes.forgetIdle()
      return mayLeaveMore
    } catch (error) {
      this.#options.onError(error)
      return false
    }
  }

  /**
   * A receiver that begins to hang keeps one place and gives up the others. The process has at most
   * twice as many jobs in progress then.
   */
  #givenUpPlaces(nowMs: number): number {
    return Math.min(this.#lanes.countHanging(nowMs), this.#options.sharedPlaces)
  }

  #start(job: FetchedJob): void {
    const begunMs = performance.now()
    this.#inProgress.add(job)
    this.#lanes.begin(job, begunMs)
    const settled = this.#work(job, begunMs)
    this.#unsettled.add(settled)
    void settled.then(() => this.#unsettled.delete(settled))
  }

  async #work(job: FetchedJob, begunMs: number): Promise<void> {
    const { status, output } = await this.#options.handle(job)
    this.#lanes.end(job, begunMs, performance.now())
    this.#inProgress.delete(job)
    if (this.#mayBeWaiting) this.wake()
    if (status === 'completed') await this.#complete(job)
    else await this.#fail([job], output, status === 'deadletter')
  }

  /** Completes in one statement the jobs that end within a short time. */
  async #complete(job: FetchedJob): Promise<void> {
    this.#completed.push(job)
    this.#completing = this.#completing.then(() => this.#completeEnded())
    await this.#completing
  }

  async #completeEnded(): Promise<void> {
    if (this.#completed.length === 0) return
    const collected = wait(COLLECT_MS, undefined, { ref: false })
    await Promise.race([collected, this.#stopping.promise])
    const jobs = this.#completed
    this.#completed = []
    await this.#boss.complete(this.queue, jobs).catch(this.#options.onError)
  }

  async #fail(jobs: FetchedJob[], output: object | undefined, isFinal = false): Promise<void> {
    try {
      if (isFinal) await forbidRetries(this.#jobs.sql, this.queue, jobs)
      await this.#boss.fail(this.queue, jobs, output)
    } catch (error) {
      this.#options.onError(error)
    }
  }

  /** Until the next poll, or until it is woken. */
  #pause(): Promise<void> {
    if (this.#isWoken) return Promise.resolve()
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer)
        resolve()
      }
      const timer = setTimeout(end, this.#options.pollMs)
      this.#endPause = end
    })
  }
}

/** The tenant whose turn was the last one. */
function lastTenant(jobs: readonly FetchedJob[]): string | undefined {
  return jobs.toSorted((one, other) => other.place - one.place)[0]?.tenant
}
