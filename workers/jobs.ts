// The job handlers of each group of queues: which worker handles the jobs of which queue, and how
// many at a time. WORKER_QUEUES names the groups of a process.
// The retries and dead letters of the queues are in src/migrations/queues.ts, because the API and the
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
} from '../src/db/queue/jobs.ts'
import type { FetchedJob, SharedQueue } from '../src/db/queue/fair-fetch.ts'
import { workOnMaintenance } from './maintenance.ts'
import { workOnOperation } from './operation-worker.ts'
import { workOnProviderEvent } from './provider-event-worker.ts'
import { workOnReconciliation } from './reconciliation-worker.ts'
import { workOnWebhook } from './webhook-worker.ts'
import type { WebhookParts } from '../src/webhooks/deliver-webhook.ts'
import type { WorkerParts } from './worker-parts.ts'

export interface JobHandler {
  readonly queue: string
  /**
   * How many jobs of the queue one process handles at the same time. A queue that tenants share has a quarter
   * more slots, for tenants without a job in progress.
   */
  readonly concurrency: number
  /**
   * How often the queue is polled for retries and for jobs whose notification was lost, in seconds.
   */
  readonly pollSeconds: number
  /** Never throws: an error in one job must not affect the other jobs of its batch. */
  readonly handle: (job: JobWithMetadata<unknown>) => Promise<JobResult>
}

/** The handler of a queue that all tenants share: they take turns. */
export interface SharedJobHandler extends Omit<JobHandler, 'queue' | 'handle'> {
  readonly queue: SharedQueue
  /** Whether workers are notified of new jobs. Then a process listens. */
  readonly isNotified: boolean
  /** How many jobs of one webhook endpoint one process handles at the same time. */
  readonly perReceiver: number
  /** Never throws. */
  readonly handle: (job: FetchedJob) => Promise<JobResult<object | undefined>>
}

export interface JobHandlers {
  readonly shared: readonly SharedJobHandler[]
  /** The handlers of the queues from which pg-boss fetches, in the order of creation. */
  readonly ordered: readonly JobHandler[]
}

/** For queues on which a client may wait. */
const FAST_POLL_SECONDS = 0.5
/** Each poll is a statement, even if there is nothing to do. */
const SLOW_POLL_SECONDS = 2

/** A webhook endpoint that hangs keeps no more places than this share of them. */
const RECEIVER_SHARE = 0.25

/** The group `payments`: operations, and what the provider or the time says about their payments. */
export function paymentHandlers(parts: WorkerParts): JobHandlers {
  const { WORKER_CONCURRENCY } = parts.settings
  return {
    shared: [
      {
        queue: OPERATIONS_QUEUE,
        concurrency: WORKER_CONCURRENCY,
        pollSeconds: FAST_POLL_SECONDS,
        isNotified: true,
        perReceiver: Infinity,
        handle: (job) => workOnOperation(parts, job),
      },
      {
        queue: PROVIDER_EVENTS_QUEUE,
        // These jobs are short. The work is done by the operation that they start.
        concurrency: Math.ceil(WORKER_CONCURRENCY / 4),
        pollSeconds: FAST_POLL_SECONDS,
        isNotified: true,
        perReceiver: Infinity,
        handle: (job) => workOnProviderEvent(parts, job),
      },
      {
        queue: REMINDERS_QUEUE,
        concurrency: Math.ceil(WORKER_CONCURRENCY / 4),
        // Not urgent: a reminder replaces an event that should have arrived long before.
        pollSeconds: SLOW_POLL_SECONDS,
        isNotified: false,
        perReceiver: Infinity,
        handle: (job) => workOnProviderEvent(parts, job),
      },
    ],
    ordered: [],
  }
}

/** The group `webhooks`: deliveries to tenants. */
export function webhookHandlers(
  webhooks: WebhookParts,
  { WEBHOOK_CONCURRENCY }: Pick<Config, 'WEBHOOK_CONCURRENCY'>,
): JobHandlers {
  return {
    shared: [
      {
        queue: WEBHOOKS_QUEUE,
        concurrency: WEBHOOK_CONCURRENCY,
        pollSeconds: SLOW_POLL_SECONDS,
        isNotified: false,
        perReceiver: Math.max(1, Math.floor(RECEIVER_SHARE * WEBHOOK_CONCURRENCY)),
        handle: (job) => workOnWebhook(webhooks, job),
      },
    ],
    ordered: [],
  }
}

/** The group `maintenance`: recovery, deletion and reconciliation. */
export function maintenanceHandlers(parts: WorkerParts): JobHandlers {
  return {
    shared: [],
    ordered: [
      {
        queue: MAINTENANCE_QUEUE,
        concurrency: 1,
        pollSeconds: SLOW_POLL_SECONDS,
        handle: (job) => workOnMaintenance(parts, job),
      },
      {
        queue: RECONCILIATIONS_QUEUE,
        concurrency: 1,
        pollSeconds: SLOW_POLL_SECONDS,
        handle: (job) => workOnReconciliation(parts, job),
      },
    ],
  }
}
