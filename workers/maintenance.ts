// The maintenance tasks, in one table. Every worker for maintenance runs each task periodically, and
// a schedule of pg-boss makes one of them run it. Concurrent runs are harmless.
import type { JobResult, JobWithMetadata, PgBoss } from 'pg-boss'
import { z } from 'zod'
import type { Config } from '../src/config.ts'
import { MAINTENANCE_QUEUE } from '../src/db/queue/jobs.ts'
import { endStalledSessions } from '../src/recovery/stalled-sessions.ts'
import { resolveDue } from '../src/recovery/outcome-resolver.ts'
import { prune } from '../src/recovery/prune.ts'
import { reap } from '../src/recovery/reaper.ts'
import { watchHolds } from '../src/recovery/expiring-holds.ts'
import type { Engine } from '../src/engine/engine.ts'
import { sweep } from '../src/recovery/sweeper.ts'
import type { WorkerParts } from './worker-parts.ts'
import { requestDailyReconciliation } from './reconciliation-worker.ts'

export interface MaintenanceTask {
  readonly name: string
  /** When the schedule of pg-boss makes one of the workers run it. */
  readonly cron: string
  /** How often each of them runs it by itself, in milliseconds; null: only by the schedule. */
  readonly intervalMs: ((settings: Config) => number) | null
  /** Runs it once, and returns its counts. All counts are zero when there was nothing to do. */
  readonly run: (parts: WorkerParts) => Promise<Readonly<Record<string, number>>>
}

const EVERY_MINUTE = '* * * * *'

/** From 3 am UTC: by then yesterday is over on every clock, and its late outcomes are known. */
const EVERY_HOUR_FROM_THREE = '0 3-23 * * *'

export const maintenanceTasks: readonly MaintenanceTask[] = [
  {
    name: 'sweep',
    cron: EVERY_MINUTE,
    intervalMs: (settings) => settings.SWEEP_INTERVAL_MS,
    run: ({ engine }) => sweep(engine),
  },
  {
    // Apart from the sweep, which waits for the locks of stalled sessions.
    name: 'disconnect',
    cron: EVERY_MINUTE,
    intervalMs: (settings) => settings.SWEEP_INTERVAL_MS,
    run: ({ engine, settings }) => disconnectStalled(engine, settings),
  },
  {
    name: 'check',
    cron: EVERY_MINUTE,
    intervalMs: (settings) => settings.CHECK_INTERVAL_MS,
    run: ({ engine }) => resolveDue(engine),
  },
  {
    name: 'reap',
    cron: EVERY_MINUTE,
    intervalMs: (settings) => settings.REAP_INTERVAL_MS,
    run: ({ engine, settings }) => reap(engine, settings),
  },
  {
    name: 'prune',
    cron: EVERY_MINUTE,
    intervalMs: (settings) => settings.REAP_INTERVAL_MS,
    run: ({ engine, settings }) => prune(engine, settings),
  },
  {
    name: 'watch',
    cron: EVERY_MINUTE,
    intervalMs: (settings) => settings.SWEEP_INTERVAL_MS,
    run: ({ engine, settings }) => watchHolds(engine, settings),
  },
  {
    name: 'reconcile',
    cron: EVERY_HOUR_FROM_THREE,
    intervalMs: null,
    async run({ engine }) {
      const { requested } = await requestDailyReconciliation(engine)
      engine.observe.scheduledReconciliations(requested)
      return { requested }
    },
  },
]

/** After twice the time limit of a statement: by then its client has given up. */
async function disconnectStalled({ store }: Engine, { STORE_TIMEOUT_MS }: Config) {
  return { disconnected: await endStalledSessions(store.sql, 2 * STORE_TIMEOUT_MS) }
}

const jobData = z.object({ task: z.string() })

/** Runs the task that a job of the schedule names. */
export async function workOnMaintenance(
  parts: WorkerParts,
  job: JobWithMetadata<unknown>,
): Promise<JobResult> {
  const { id } = job
  const parsed = jobData.safeParse(job.data)
  const task = maintenanceTasks.find(({ name }) => name === parsed.data?.task)
  if (task === undefined) return { id, status: 'failed', output: { reason: 'no such task' } }
  const succeeded = await runOnce(parts, task)
  return { id, status: succeeded ? 'completed' : 'failed' }
}

/** Updates the schedule of pg-boss to this table. */
export async function scheduleMaintenance(boss: PgBoss): Promise<void> {
  for (const { name, cron } of maintenanceTasks) {
    await boss.schedule(MAINTENANCE_QUEUE, cron, { task: name }, { key: name })
  }
}

export interface Ticker {
  /** Starts no more tasks, and resolves when none is running. */
  stop(): Promise<void>
}

/** Runs each task periodically in this process. Runs of the same task never overlap. */
export function startTicking(parts: WorkerParts): Ticker {
  const stopping = new AbortController()
  const ticking = maintenanceTasks.map((task) => tick(parts, task, stopping.signal))
  return {
    async stop() {
      stopping.abort()
      await Promise.all(ticking)
    },
  }
}

async function tick(parts: WorkerParts, task: MaintenanceTask, stop: AbortSignal): Promise<void> {
  const { intervalMs } = task
  if (intervalMs === null) return
  while (!stop.aborted) {
    await runOnce(parts, task)
    await pause(intervalMs(parts.settings), stop)
  }
}

/** Waits, but returns early when `stop` is aborted. */
function pause(ms: number, stop: AbortSignal): Promise<void> {
  if (stop.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms)
    function done(): void {
      clearTimeout(timer)
      stop.removeEventListener('abort', done)
      resolve()
    }
    stop.addEventListener('abort', done)
  })
}

/** Never throws: a failed task runs again at its next time. */
async function runOnce(parts: WorkerParts, task: MaintenanceTask): Promise<boolean> {
  const { log, observe, clock } = parts.engine
  const startedAtMs = clock.monotonicMs()
  const seconds = () => (clock.monotonicMs() - startedAtMs) / 1_000
  try {
    const counts = await task.run(parts)
    observe.ranTask(task.name, seconds(), counts)
    if (Object.values(counts).some((count) => count > 0)) log.info(counts, `${task.name} done`)
    return true
  } catch (error) {
    observe.ranTask(task.name, seconds(), undefined)
    log.warn({ err: error, task: task.name }, 'a maintenance task failed; it will run again')
    return false
  }
}
