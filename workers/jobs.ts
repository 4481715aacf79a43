// The table of job handlers: which worker handles the jobs of which queue, and how many at a time.
// The retries and dead letters of the queues are in src/db/queue/queues.ts, because the API and the
// migration need them.
import type { JobResult, JobWithMetadata } from 'pg-boss'
import type { Config } from '../src/config.ts'
import {
  MAINTENANCE_QUEUE,
  OPERATIONS_QUEUE,
  PROVIDER_EVENTS_QUEUE,
  RECONCILIATIONS_QUEUE,
  REMINDERS_QUEUE,
  WEBHOOKS_QUEUE,
} from '../src/db/queue/queues.ts'
import type { FetchedJob, SharedQueue } from '../src/db/queue/turns.ts'
import type { LaneLimits } from './lanes.ts'
import { workOnMaintenance } from './maintenance.ts'
import { workOnOperation } from './operation-worker.ts'
import { workOnProviderEvent } from './provider-event-worker.ts'
import { workOnReconciliation } from './reconciliation-worker.ts'
import { workOnWebhook } from './webhook-worker.ts'
import type { WorkerParts } from './worker-parts.ts'

export interface JobHandler {
  readonly queue: string
  /** How many jobs of the queue one process handles at the same time. */
  readonly concurrency: (settings: Config) => number
  /**
   * How often the queue is polled for retries and for jobs whose notification was lost, in seconds.
   */
  readonly pollSeconds: number
  /** Never throws: an error in one job must not affect the other jobs of its batch. */
  readonly handle: (parts: WorkerParts, job: JobWithMetadata<unknown>) => Promise<JobResult>
}

/** The handler of a queue that all tenants share: they take turns. */
export interface SharedJobHandler extends Omit<JobHandler, 'queue' | 'handle'> {
  readonly queue: SharedQueue
  readonly lanes: LaneLimits
  readonly handle: (parts: WorkerParts, job: FetchedJob) => Promise<JobResult>
}

/** For queues on which a client may wait. */
const FAST_POLL_SECONDS = 0.5
/** Each poll is a statement, even if there is nothing to do. */
const SLOW_POLL_SECONDS = 2

/** An endpoint that takes longer to answer is sent one event at a time. */
const SLOW_RECEIVER_MS = 1_000

/** The receiver of all these jobs is the provider. */
const withoutReceivers: LaneLimits = { initialWindow: Infinity, slowMs: Infinity }

export const sharedJobHandlers: readonly SharedJobHandler[] = [
  {
    queue: OPERATIONS_QUEUE,
    concurrency: (settings) => settings.WORKER_CONCURRENCY,
    pollSeconds: FAST_POLL_SECONDS,
    lanes: withoutReceivers,
    handle: workOnOperation,
  },
  {
    queue: PROVIDER_EVENTS_QUEUE,
    // These jobs are short. The work is done by the operation that they start.
    concurrency: (settings) => Math.ceil(settings.WORKER_CONCURRENCY / 4),
    pollSeconds: FAST_POLL_SECONDS,
    lanes: withoutReceivers,
    handle: workOnProviderEvent,
  },
  {
    queue: REMINDERS_QUEUE,
    concurrency: (settings) => Math.ceil(settings.WORKER_CONCURRENCY / 4),
    // Not urgent: a reminder replaces an event that should have arrived long before.
    pollSeconds: SLOW_POLL_SECONDS,
    lanes: withoutReceivers,
    handle: workOnProviderEvent,
  },
  {
    queue: WEBHOOKS_QUEUE,
    concurrency: (settings) => settings.WEBHOOK_CONCURRENCY,
    pollSeconds: SLOW_POLL_SECONDS,
    lanes: { initialWindow: 1, slowMs: SLOW_RECEIVER_MS },
    handle: workOnWebhook,
  },
]

/** The handlers of the queues from which pg-boss fetches, in the order of creation. */
export const jobHandlers: readonly JobHandler[] = [
  {
    queue: MAINTENANCE_QUEUE,
    concurrency: () => 1,
    pollSeconds: SLOW_POLL_SECONDS,
    handle: workOnMaintenance,
  },
  {
    queue: RECONCILIATIONS_QUEUE,
    concurrency: () => 1,
    pollSeconds: SLOW_POLL_SECONDS,
    handle: workOnReconciliation,
  },
]
