// Creates the job queues: their retries, when a job counts as lost, and where it goes when it is out of
// retries.
import type { PgBoss, Queue } from 'pg-boss'
import type { Config } from '../config.ts'
import type { Sql } from '../db/connection/client.ts'
import { isDistributed } from './distribution.ts'
import {
  OPERATIONS_QUEUE,
  OPERATIONS_DEAD_LETTERS,
  PROVIDER_EVENTS_QUEUE,
  PROVIDER_EVENTS_DEAD_LETTERS,
  REMINDERS_QUEUE,
  WEBHOOKS_QUEUE,
  WEBHOOKS_DEAD_LETTERS,
  MAINTENANCE_QUEUE,
  RECONCILIATIONS_QUEUE,
  RECONCILIATIONS_DEAD_LETTERS,
} from '../db/queue/jobs.ts'

/** How pg-boss has to treat the database. Its tables stay on the coordinator of Citus. */
export async function jobBackend(sql: Sql): Promise<'postgres' | 'citus'> {
  return (await isDistributed(sql)) ? 'citus' : 'postgres'
}

type QueueSettings = Pick<
  Config,
  | 'LEASE_MS'
  | 'JOB_RETRY_DELAY_SECONDS'
  | 'JOB_RETRY_DELAY_MAX_SECONDS'
  | 'STORE_TIMEOUT_MS'
  | 'WEBHOOK_TIMEOUT_MS'
  | 'ACTION_EXPIRES_SECONDS'
>

const UNLIMITED_RETRIES = 1_000_000

const HOUR_SECONDS = 60 * 60

/** How long an event waits for its payment to be free: as long as the outcome resolver may need. */
const EVENT_RETRY_SECONDS = 24 * HOUR_SECONDS

/** The retries of a reminder until its delay is the longest: the delay doubles from one second. */
const FIRST_REMINDERS = 12

/**
 * Longer than a short outage of the store: a job whose heartbeat is late is given to another worker
 * and starts again.
 */
const RECONCILIATION_HEARTBEAT_SECONDS = 20

/** Creates the queues, or updates their settings: all of them, or only those that are named. */
export async function ensureQueues(
  boss: PgBoss,
  settings: QueueSettings,
  names?: ReadonlySet<string>,
): Promise<void> {
  for (const { name, ...options } of queueSettings(settings)) {
    if (names?.has(name) === false) continue
    await boss.createQueue(name, options)
    await boss.updateQueue(name, options)
  }
}

/** All queues. Dead-letter queues come before the queues that refer to them. */
function queueSettings(settings: QueueSettings): Queue[] {
  const dead = [
    OPERATIONS_DEAD_LETTERS,
    PROVIDER_EVENTS_DEAD_LETTERS,
    RECONCILIATIONS_DEAD_LETTERS,
    WEBHOOKS_DEAD_LETTERS,
  ]
  return [
    ...dead.map((name) => ({ name, retentionSeconds: 30 * 24 * HOUR_SECONDS })),
    // The rows of what a job was about have all that it knew.
    ...workQueues(settings).map((queue) => ({ deleteAfterSeconds: HOUR_SECONDS, ...queue })),
  ]
}

function workQueues(settings: QueueSettings): Queue[] {
  const leaseSeconds = Math.ceil(settings.LEASE_MS / 1_000)
  const attemptMs = settings.WEBHOOK_TIMEOUT_MS + 2 * settings.STORE_TIMEOUT_MS
  const backoff = {
    retryDelay: settings.JOB_RETRY_DELAY_SECONDS,
    retryBackoff: true,
    retryDelayMax: settings.JOB_RETRY_DELAY_MAX_SECONDS,
  }
  return [
    {
      name: OPERATIONS_QUEUE,
      deadLetter: OPERATIONS_DEAD_LETTERS,
      // The engine decides when to give up, by the operation's attempts: a job must not run out of
      // retries because its workers crashed.
      retryLimit: UNLIMITED_RETRIES,
      ...backoff,
      // A job expires one second after its worker's lease, so that the retry after a crash finds
      // the lease expired.
      expireInSeconds: leaseSeconds + 1,
    },
    {
      name: PROVIDER_EVENTS_QUEUE,
      deadLetter: PROVIDER_EVENTS_DEAD_LETTERS,
      retryLimit: Math.ceil(EVENT_RETRY_SECONDS / settings.JOB_RETRY_DELAY_MAX_SECONDS),
      ...backoff,
      // Applying an event takes one lookup at the provider; a lease is twice as long as that.
      expireInSeconds: leaseSeconds + 1,
    },
    {
      name: REMINDERS_QUEUE,
      deadLetter: PROVIDER_EVENTS_DEAD_LETTERS,
      ...reminderRetries(settings),
      expireInSeconds: leaseSeconds + 1,
    },
    {
      name: MAINTENANCE_QUEUE,
      // The schedule inserts the next job a minute later.
      retryLimit: 0,
      expireInSeconds: 10 * 60,
    },
    {
      name: RECONCILIATIONS_QUEUE,
      deadLetter: RECONCILIATIONS_DEAD_LETTERS,
      // Each try starts again, so the retries outlast a provider or a store that is down for hours.
      retryLimit: 10,
      retryDelay: 60,
      retryBackoff: true,
      retryDelayMax: HOUR_SECONDS,
      // Enough for a million records at the provider's rate limit.
      expireInSeconds: 6 * HOUR_SECONDS,
      // Workers send heartbeats, so that the job of a crashed worker is retried before it expires.
      heartbeatSeconds: RECONCILIATION_HEARTBEAT_SECONDS,
    },
    {
      name: WEBHOOKS_QUEUE,
      deadLetter: WEBHOOKS_DEAD_LETTERS,
      // A failed attempt plans the next one by its own schedule, as a separate job. Only the job of
      // a worker that crashed, or lost the store, is retried.
      retryLimit: UNLIMITED_RETRIES,
      ...backoff,
      // Longer than an attempt and its two statements can take.
      expireInSeconds: Math.ceil(attemptMs / 1_000) + 1,
    },
  ]
}

/**
 * Retries are frequent at first. Later there are ten until the payment is canceled, so that it is
 * canceled at most a tenth too late. If that fails for a day, the job is a dead letter.
 */
function reminderRetries({ ACTION_EXPIRES_SECONDS, JOB_RETRY_DELAY_SECONDS }: QueueSettings) {
  const delayMax = Math.min(HOUR_SECONDS, Math.ceil(ACTION_EXPIRES_SECONDS / 10))
  const later = Math.ceil((ACTION_EXPIRES_SECONDS + EVENT_RETRY_SECONDS) / delayMax)
  return {
    retryLimit: FIRST_REMINDERS + later,
    retryDelay: Math.min(JOB_RETRY_DELAY_SECONDS, delayMax),
    retryBackoff: true,
    retryDelayMax: delayMax,
  }
}
