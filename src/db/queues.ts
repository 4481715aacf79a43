// The job queues: how each is retried, when a job counts as lost, and where it goes when it is out
// of retries. The API puts jobs in, the workers take them out, and the migration makes the queues.
import type { PgBoss, Queue } from 'pg-boss'
import type { Config } from '../config.ts'

/** The schema that pg-boss keeps its tables in. */
export const JOB_SCHEMA = 'pgboss'

export const OPERATIONS_QUEUE = 'operations'
export const OPERATIONS_DEAD_LETTERS = 'operations.dead'

/** A job names its operation; everything else is on the operation's row. */
export interface OperationJob {
  readonly tenantId: string
  readonly operationId: string
}

type QueueSettings = Pick<
  Config,
  'LEASE_MS' | 'JOB_RETRY_LIMIT' | 'JOB_RETRY_DELAY_SECONDS' | 'JOB_RETRY_DELAY_MAX_SECONDS'
>

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
      retryLimit: settings.JOB_RETRY_LIMIT,
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
  ]
}
