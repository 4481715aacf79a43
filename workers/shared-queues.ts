// Starts a worker for each queue that all tenants share, and wakes it when pg-boss's channel names
// its queue.
import type { Logger } from 'pino'
import type { PgBoss } from 'pg-boss'
import { JOBS_CHANNEL } from '../src/db/connection/notifications.ts'
import type { JobStore } from '../src/db/queue/job-store.ts'
import type { SharedJobHandler } from './jobs.ts'
import { SharedQueueWorker } from './shared-queue-worker.ts'

/** One place for a newcomer for each four places of all. */
const RESERVED_SHARE = 0.25

export interface SharedWorkers {
  /** Fetches no more jobs; jobs that have not ended after `timeoutMs` are given back. */
  stop(timeoutMs: number): Promise<void>
}

export async function startSharedWorkers(
  boss: PgBoss,
  jobs: JobStore,
  log: Logger,
  handlers: readonly SharedJobHandler[],
): Promise<SharedWorkers> {
  const warn = (error: unknown) => log.warn({ err: error }, 'the job queue failed')
  const workers = handlers.map(({ queue, concurrency, pollSeconds, lanes, handle }) => {
    return new SharedQueueWorker(boss, jobs, {
      queue,
      sharedPlaces: concurrency,
      reservedPlaces: Math.ceil(RESERVED_SHARE * concurrency),
      lanes,
      pollMs: pollSeconds * 1_000,
      handle,
      onError: warn,
    })
  })
  const wake = (queue?: string) => {
    for (const worker of workers) if (queue === undefined || queue === worker.queue) worker.wake()
  }
  // Without notifications, behind some poolers, the workers only poll. A new connection may have
  // missed some.
  if (handlers.some(({ isNotified }) => isNotified)) {
    await jobs.listen?.(JOBS_CHANNEL, wake, () => wake()).catch(warn)
  }
  return {
    async stop(timeoutMs) {
      await Promise.all(workers.map((worker) => worker.stop(timeoutMs)))
    },
  }
}
