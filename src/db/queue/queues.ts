// The job queues: how each is retried, when a job counts as lost, and where it goes when it is out
// of retries. The API puts jobs in, the workers take them out, and the migration makes the queues.
import type { PgBoss, Queue } from 'pg-boss'
import type { Config } from '../../config.ts'

/** The schema that pg-boss keeps its tables in. */
export const JOB_SCHEMA = 'pgboss'

export const OPERATIONS_QUEUE = 'operations'
export const OPERATIONS_DEAD_LETTERS = 'operations.dead'

/** A job names its operation; everything else is on the operation's row. */
export interface OperationJob {
  readonly tenantId: string
  readonly operationId: string
  /** The span that asked for the work, when somebody records it: it is on no row. */
  readonly traceparent?: string | undefined
}

export const PROVIDER_EVENTS_QUEUE = 'provider-events'
export const PROVIDER_EVENTS_DEAD_LETTERS = 'provider-events.dead'

/** Reminders to look at payments that wait for the holder of a card. They are events of our own. */
export const REMINDERS_QUEUE = 'reminders'

/** A job names its event; everything else is in the inbox. */
export interface ProviderEventJob {
  readonly provider: string
  readonly eventId: string
}

export const WEBHOOKS_QUEUE = 'webhook-deliveries'
export const WEBHOOKS_DEAD_LETTERS = 'webhook-deliveries.dead'

/** The clock's work: a job names the task whose time has come. */
export const MAINTENANCE_QUEUE = 'maintenance'

export interface MaintenanceJob {
  readonly task: string
}

export const RECONCILIATIONS_QUEUE = 'reconciliations'
export const RECONCILIATIONS_DEAD_LETTERS = 'reconciliations.dead'

/** A job names its run, which says what is to be compared. */
export interface ReconciliationJob {
  readonly runId: string
}

/** A job names the attempt that it makes, so that a job left over from an earlier one does nothing. */
export interface WebhookJob {
  readonly tenantId: string
  readonly deliveryId: string
  readonly attempt: number
}

type QueueSettings = Pick<
  Config,
  | 'LEASE_MS'
  | 'JOB_RETRY_DELAY_SECONDS'
  | 'JOB_RETRY_DELAY_MAX_SECONDS'
  | 'STORE_TIMEOUT_MS'
  | 'WEBHOOK_TIMEOUT_MS'
>

const RETRY_WITHOUT_END = 1_000_000

/** How long an event waits for its payment to be free: as long as the reconciler is given to free it. */
const HOUR_SECONDS = 60 * 60

const EVENT_PATIENCE_SECONDS = 24 * HOUR_SECONDS

/** A dozen within the first hour, then hourly: a day in all. */
const REMINDERS_MAX = 36

/** Longer than the store is away in passing: a job that is taken from a living worker begins anew. */
const RECONCILIATION_HEARTBEAT_SECONDS = 20

/** Makes the queues, or brings those that are there to these settings. */
export async function ensureQueues(boss: PgBoss, settings: QueueSettings): Promise<void> {
  for (const { name, ...options } of jobQueues(settings)) {
    await boss.createQueue(name, options)
    await boss.updateQueue(name, options)
  }
}

/** Every queue, dead letters before the queues that point at them. */
function jobQueues(settings: QueueSettings): Queue[] {
  return [
    { name: OPERATIONS_DEAD_LETTERS, retentionSeconds: 30 * 24 * 60 * 60 },
    {
      name: OPERATIONS_QUEUE,
      deadLetter: OPERATIONS_DEAD_LETTERS,
      // When to give up is the engine's decision, by the operation's own count: a job must not run out
      // of retries because its workers died.
      retryLimit: RETRY_WITHOUT_END,
      retryDelay: settings.JOB_RETRY_DELAY_SECONDS,
      retryBackoff: true,
      retryDelayMax: settings.JOB_RETRY_DELAY_MAX_SECONDS,
      // A job outlives the lease that its worker holds by a second, so that the retry of a worker
      // that died finds the lease expired.
      expireInSeconds: Math.ceil(settings.LEASE_MS / 1_000) + 1,
      // Lets idle workers poll rarely and fetch at once when they are woken.
      notify: true,
      // What a finished job knew is on the operation's row and timeline.
      deleteAfterSeconds: 60 * 60,
    },
    { name: PROVIDER_EVENTS_DEAD_LETTERS, retentionSeconds: 30 * 24 * 60 * 60 },
    {
      name: PROVIDER_EVENTS_QUEUE,
      deadLetter: PROVIDER_EVENTS_DEAD_LETTERS,
      retryLimit: Math.ceil(EVENT_PATIENCE_SECONDS / settings.JOB_RETRY_DELAY_MAX_SECONDS),
      retryDelay: settings.JOB_RETRY_DELAY_SECONDS,
      retryBackoff: true,
      retryDelayMax: settings.JOB_RETRY_DELAY_MAX_SECONDS,
      // Applying an event takes one look at the provider, which a lease is twice as long as.
      expireInSeconds: Math.ceil(settings.LEASE_MS / 1_000) + 1,
      notify: true,
      // What came of it is in the inbox.
      deleteAfterSeconds: 60 * 60,
    },
    {
      name: REMINDERS_QUEUE,
      deadLetter: PROVIDER_EVENTS_DEAD_LETTERS,
      // Looks that come closer together at first, then once an hour, for a day.
      retryLimit: REMINDERS_MAX,
      retryDelay: settings.JOB_RETRY_DELAY_SECONDS,
      retryBackoff: true,
      retryDelayMax: HOUR_SECONDS,
      expireInSeconds: Math.ceil(settings.LEASE_MS / 1_000) + 1,
      deleteAfterSeconds: HOUR_SECONDS,
    },
    {
      name: MAINTENANCE_QUEUE,
      // The next minute brings the next one.
      retryLimit: 0,
      expireInSeconds: 10 * 60,
      deleteAfterSeconds: HOUR_SECONDS,
    },
    { name: RECONCILIATIONS_DEAD_LETTERS, retentionSeconds: 30 * 24 * 60 * 60 },
    {
      name: RECONCILIATIONS_QUEUE,
      deadLetter: RECONCILIATIONS_DEAD_LETTERS,
      // Each try begins anew, so that a provider or a store that is away for hours is waited for.
      retryLimit: 10,
      retryDelay: 60,
      retryBackoff: true,
      retryDelayMax: HOUR_SECONDS,
      // A million records at a provider's pace.
      expireInSeconds: 6 * HOUR_SECONDS,
      // A worker says by itself that it lives: the job of one that was killed does not wait for hours.
      heartbeatSeconds: RECONCILIATION_HEARTBEAT_SECONDS,
      deleteAfterSeconds: HOUR_SECONDS,
    },
    { name: WEBHOOKS_DEAD_LETTERS, retentionSeconds: 30 * 24 * 60 * 60 },
    {
      name: WEBHOOKS_QUEUE,
      deadLetter: WEBHOOKS_DEAD_LETTERS,
      // Nobody is woken for it: to a receiver, the half second until the poll does not matter.
      // An attempt that fails plans the next one by its own schedule, as a job of its own. Only the job
      // of a worker that died, or found the store gone, is tried again.
      retryLimit: RETRY_WITHOUT_END,
      retryDelay: settings.JOB_RETRY_DELAY_SECONDS,
      retryBackoff: true,
      retryDelayMax: settings.JOB_RETRY_DELAY_MAX_SECONDS,
      // Longer than an attempt and the two statements around it can take.
      expireInSeconds:
        Math.ceil((settings.WEBHOOK_TIMEOUT_MS + 2 * settings.STORE_TIMEOUT_MS) / 1_000) + 1,
      // What a finished job knew is on the delivery and its attempts.
      deleteAfterSeconds: 60 * 60,
    },
  ]
}
