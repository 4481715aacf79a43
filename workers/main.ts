// The worker process: fetches jobs from pg-boss and handles them until it is told to stop.
import type { Logger } from 'pino'
import { PgBoss } from 'pg-boss'
import { readConfig, type Config } from '../src/config.ts'
import { readHealthFigures } from '../src/db/operators/health-figures.ts'
import { openJobStore, type JobStore } from '../src/db/queue/job-store.ts'
import { ensureQueues, JOB_SCHEMA } from '../src/db/queue/queues.ts'
import { createLog } from '../src/log.ts'
import { createMetrics, type Metrics } from '../src/metrics/metrics.ts'
import { engineObserver } from '../src/metrics/observers.ts'
import { serveMetrics, type MetricsServer } from '../src/metrics/serve-metrics.ts'
import { exportStoreGauges } from '../src/metrics/store-gauges.ts'
import { beforeDue, createShutdown } from '../src/engine/shutdown.ts'
import { systemClock } from '../src/engine/clock.ts'
import type { Engine } from '../src/engine/engine.ts'
import { announceReady, runProcess, stopOnSignal } from '../src/process.ts'
import { startTracing, type Tracing } from '../src/tracing/start-tracing.ts'
import { requireDatabaseUrl, wireEngine, wireWebhooks } from '../src/wiring.ts'
import { jobHandlers, sharedJobHandlers, type JobHandler } from './jobs.ts'
import { scheduleMaintenance, startTicking, type Ticker } from './maintenance.ts'
import { startSharedWorkers, type SharedWorkers } from './shared-queues.ts'

/**
 * Above one, because a poller that fetches single jobs does not drain a backlog when it is
 * notified.
 */
const BATCH_SIZE = 4
/**
 * How often pg-boss deletes old jobs. Each time it reads the whole table. By default it does so
 * once a day, so jobs that should be deleted after an hour would stay for a day.
 */
const DELETION_INTERVAL_SECONDS = 10 * 60
/**
 * After this share of a shutdown, jobs of shared queues are given back: operations have been handed
 * over by then.
 */
const GIVE_BACK_SHARE = 0.9
/** Next to the API's port, for when both run on one machine. */
const USUAL_METRICS_PORT = 9465

await runProcess('worker', async () => {
  const config = readConfig()
  const log = createLog('worker', config.LOG_LEVEL)
  const tracing = await startTracing('worker', config, log)
  const metrics = createMetrics()
  const shutdown = createShutdown(systemClock, config.SHUTDOWN_TIMEOUT_MS)
  const engine = { ...wireEngine(config, log, engineObserver(metrics)), shutdown }
  // Before the first job needs it. What goes wrong is told with that job.
  engine.provider.readAccount().catch(() => {})
  const metricsServer = await serveWorkerMetrics(metrics, engine, config)
  const stopping = new AbortController()
  const webhooks = wireWebhooks(config, engine)
  const parts = { engine, webhooks, settings: config, stopping: stopping.signal }
  const jobs = openJobStore({
    url: requireDatabaseUrl(config),
    applicationName: 'atomic-payments worker jobs',
    timeoutMs: config.STORE_TIMEOUT_MS,
    failed: engine.observe.storeFailed,
  })
  const boss = createBoss(jobs, config, log)
  await boss.start()
  // The queues keep the settings of the process that wrote them last, and the lease is a worker's
  // setting.
  await ensureQueues(boss, config)
  for (const handler of jobHandlers) {
    const { queue, handle } = handler
    await boss.work(queue, workOptions(handler, config), (batch) =>
      Promise.all(batch.map((job) => handle(parts, job))),
    )
  }
  const shared = await startSharedWorkers(boss, jobs, parts, sharedJobHandlers)
  await scheduleMaintenance(boss)
  const ticking = startTicking(parts)
  stopOnSignal(config.SHUTDOWN_TIMEOUT_MS, (reason) => {
    shutdown.begin()
    stopping.abort(new Error('the worker stops'))
    return stop({ boss, jobs, shared, ticking, metricsServer, tracing }, engine, config, reason)
  })
  log.info({ concurrency: config.WORKER_CONCURRENCY }, 'working')
  announceReady()
})

function serveWorkerMetrics(
  metrics: Metrics,
  { store, clock, log }: Engine,
  config: Config,
): Promise<MetricsServer> {
  metrics.exportProcess()
  exportStoreGauges(
    metrics,
    () => readHealthFigures(store.sql),
    () => clock.monotonicMs(),
  )
  return serveMetrics(metrics, USUAL_METRICS_PORT, config, log)
}

function createBoss(jobs: JobStore, config: Config, log: Logger): PgBoss {
  // A job of a crashed worker is found within a quarter of a lease after it expires.
  const superviseSeconds = Math.max(1, Math.round(config.LEASE_MS / 4_000))
  const boss = new PgBoss({
    db: jobs,
    schema: JOB_SCHEMA,
    migrate: false,
    useListenNotify: true,
    superviseIntervalSeconds: superviseSeconds,
    monitorIntervalSeconds: superviseSeconds,
    maintenanceIntervalSeconds: DELETION_INTERVAL_SECONDS,
  })
  boss.on('error', (error) => log.warn({ err: error }, 'the job queue failed'))
  boss.on('warning', ({ message }) => log.warn({ message }, 'the job queue warns'))
  return boss
}

function workOptions({ concurrency, pollSeconds }: JobHandler, config: Config) {
  return {
    batchSize: BATCH_SIZE,
    localConcurrency: Math.ceil(concurrency(config) / BATCH_SIZE),
    burstWhenBatchFull: true,
    includeMetadata: true,
    perJobResults: true,
    pollingIntervalSeconds: pollSeconds,
    notifyPollingIntervalSeconds: pollSeconds,
  } as const
}

interface Running {
  readonly boss: PgBoss
  readonly jobs: JobStore
  readonly shared: SharedWorkers
  readonly ticking: Ticker
  readonly metricsServer: MetricsServer
  readonly tracing: Tracing
}

async function stop(
  { boss, jobs, shared, ticking, metricsServer, tracing }: Running,
  { store, log, shutdown }: Engine,
  config: Config,
  reason: string,
): Promise<void> {
  log.info({ reason }, 'stopping; completing the phases in progress')
  // Concurrently, so that no job is fetched while a task ends. A task can be interrupted at any
  // point.
  await Promise.all([
    beforeDue(shutdown, ticking.stop()),
    shared.stop(GIVE_BACK_SHARE * config.SHUTDOWN_TIMEOUT_MS),
    boss.stop({ graceful: true, timeout: config.SHUTDOWN_TIMEOUT_MS }),
  ])
  await Promise.all([store.close(), jobs.close(), metricsServer.stop(), tracing.stop()])
  log.info('stopped')
}
