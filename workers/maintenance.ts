// What has to be done again and again, whoever dies: the tasks in one table, each run by a tick of every
// worker and, should all ticks stand still, by a schedule of pg-boss. Several at once do no harm.
import type { JobResult, JobWithMetadata, PgBoss } from 'pg-boss'
import { z } from 'zod'
import type { Config } from '../src/config.ts'
import { MAINTENANCE_QUEUE, type MaintenanceJob } from '../src/db/queue/queues.ts'
import { endStalledSessions } from '../src/db/connection/stalled-sessions.ts'
import { resolveDue } from '../src/recovery/outcome-resolver.ts'
import { reap } from '../src/recovery/reaper.ts'
import type { Engine } from '../src/engine/engine.ts'
import { sweep } from '../src/recovery/sweeper.ts'
import type { WorkerParts } from './jobs.ts'
import { requestDailyReconciliation } from './reconciliation-worker.ts'

export interface MaintenanceTask {
  readonly name: string
  /** When pg-boss has it run by one of the workers. */
  readonly cron: string
  /** How often each worker runs it by itself, in milliseconds; null: by the schedule alone. */
  readonly intervalMs: ((settings: Config) => number) | null
  /** Runs it once, and says how much of what it did. Nothing but zeros: there was nothing to do. */
  readonly run: (parts: WorkerParts) => Promise<Readonly<Record<string, number>>>
}

const EVERY_MINUTE = '* * * * *'

/** From three in the morning on, UTC: the day before is over for every clock, and its late ends are known. */
const EVERY_HOUR_FROM_THREE = '0 3-23 * * *'

export const maintenanceTasks: readonly MaintenanceTask[] = [
  {
    name: 'sweep',
    cron: EVERY_MINUTE,
    intervalMs: (settings) => settings.SWEEP_INTERVAL_MS,
    run: ({ engine }) => sweep(engine),
  },
  {
    // Apart from the sweep, which waits for what they have locked.
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
    name: 'reconcile',
    cron: EVERY_HOUR_FROM_THREE,
    intervalMs: null,
    run: ({ engine }) => requestDailyReconciliation(engine),
  },
]

/** Twice what a statement may take: by then its client has given it up. */
async function disconnectStalled({ store }: Engine, { STORE_TIMEOUT_MS }: Config) {
  return { disconnected: await endStalledSessions(store.sql, 2 * STORE_TIMEOUT_MS) }
}

const jobData: z.ZodType<MaintenanceJob> = z.object({ task: z.string() })

/** Runs the task that a job of the schedule names. */
export async function workOnMaintenance(
  parts: WorkerParts,
  job: JobWithMetadata<unknown>,
): Promise<JobResult> {
  const { id } = job
  const parsed = jobData.safeParse(job.data)
  const task = maintenanceTasks.find(({ name }) => name === parsed.data?.task)
  if (task === undefined) return { id, status: 'failed', output: { reason: 'no such task' } }
  const done = await runOnce(parts, task)
  return { id, status: done ? 'completed' : 'failed' }
}

/** Brings the schedule of pg-boss to this table. */
export async function scheduleMaintenance(boss: PgBoss): Promise<void> {
  for (const { name, cron } of maintenanceTasks) {
    await boss.schedule(MAINTENANCE_QUEUE, cron, { task: name }, { key: name })
  }
}

export interface Ticker {
  /** Starts no task any more, and resolves when none is running. */
  stop(): Promise<void>
}

/** Has this process run each task at its own pace, one run of it after the other. */
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

/** A pause that ends early when it is told to stop. */
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

/** Never throws: a task that fails is run again at its next time. */
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
    log.warn({ err: error, task: task.name }, 'a maintenance task failed; it is run again')
    return false
  }
}
