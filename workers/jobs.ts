// Which worker handles the jobs of which queue, and how many at a time. How a queue retries, and where
// its dead letters go, stands in src/db/queue/queues.ts, because the API and the migration need it too.
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
import type { Engine } from '../src/engine/engine.ts'
import type { WebhookParts } from '../src/webhooks/deliver-webhook.ts'
import { workOnMaintenance } from './maintenance.ts'
import { workOnOperation } from './operation-worker.ts'
import { workOnProviderEvent } from './provider-event-worker.ts'
import { workOnReconciliation } from './reconciliation-worker.ts'
import { workOnWebhook } from './webhook-worker.ts'

/** The parts of the service that the workers work with. */
export interface WorkerParts {
  readonly engine: Engine
  readonly webhooks: WebhookParts
  readonly settings: Config
  /** Aborted when this process is to stop, for work that takes longer than a stop may. */
  readonly stopping?: AbortSignal
}

export interface JobHandler {
  readonly queue: string
  /** How many of its jobs one process works on at a time. */
  readonly concurrency: (settings: Config) => number
  /** How often it is looked for retries, and for jobs whose wake-up was lost, in seconds. */
  readonly pollSeconds: number
  /** Never throws: what goes wrong with one job must not touch the others of its batch. */
  readonly handle: (parts: WorkerParts, job: JobWithMetadata<unknown>) => Promise<JobResult>
}

/** A client may wait for it. */
const SOON = 0.5
/** Each look is a statement, whether there is anything to do or not. */
const LATER = 2

export const jobHandlers: readonly JobHandler[] = [
  {
    queue: OPERATIONS_QUEUE,
    concurrency: (settings) => settings.WORKER_CONCURRENCY,
    pollSeconds: SOON,
    handle: workOnOperation,
  },
  {
    queue: PROVIDER_EVENTS_QUEUE,
    // Short, and followed by an operation, which is where the work is.
    concurrency: (settings) => Math.ceil(settings.WORKER_CONCURRENCY / 4),
    pollSeconds: SOON,
    handle: workOnProviderEvent,
  },
  {
    queue: REMINDERS_QUEUE,
    concurrency: (settings) => Math.ceil(settings.WORKER_CONCURRENCY / 4),
    // Each stands in for an event that should have come by then.
    pollSeconds: LATER,
    handle: workOnProviderEvent,
  },
  {
    queue: WEBHOOKS_QUEUE,
    concurrency: (settings) => settings.WEBHOOK_CONCURRENCY,
    pollSeconds: LATER,
    handle: workOnWebhook,
  },
  {
    queue: MAINTENANCE_QUEUE,
    concurrency: () => 1,
    pollSeconds: LATER,
    handle: workOnMaintenance,
  },
  {
    queue: RECONCILIATIONS_QUEUE,
    concurrency: () => 1,
    pollSeconds: LATER,
    handle: workOnReconciliation,
  },
]
