// The worker process: fetches jobs from pg-boss and handles them until it is told to stop.
import type { Logger } from 'pino'
import { startReporting, type ProcessReporter } from '../src/start/process-reporter.ts'
import { requireSafeDatabase } from '../src/migrations/database-facts.ts'
import { PgBoss, type BackendProfile } from 'pg-boss'
import { queueGroups, readConfig, type Config, type QueueGroup } from '../src/config.ts'
import { readHealthFigures } from '../src/metrics/store-gauges.ts'
import { openJobStore, type JobStore } from '../src/db/queue/job-store.ts'
import { ensureQueues, jobBackend } from '../src/migrations/queues.ts'
import { JOB_SCHEMA } from '../src/db/queue/jobs.ts'
import { createLog } from '../src/log.ts'
import { createMetrics, type Metrics } from '../src/metrics/metrics.ts'
import { engineObserver, workerCircuits } from '../src/metrics/observers.ts'
import { serveMetrics, type MetricsServer } from '../src/metrics/serve-metrics.ts'
import { exportStoreGauges } from '../src/metrics/store-gauges.ts'
import { systemClock, beforeDue, createShutdown, type Shutdown } from '../src/engine/engine.ts'
import { announceReady, readVersion, runProcess, stopOnSignal } from '../src/process.ts'
import { startTracing, type Tracing } from '../src/tracing/start-tracing.ts'
import {
  requireDatabaseUrl,
  wireEngine,
  wireWebhooks,
  wireWorkerBase,
  type WorkerBase,
} from '../src/wiring.ts'
import {
  maintenanceHandlers,
  paymentHandlers,
  webhookHandlers,
  type JobHandler,
  type JobHandlers,
} from './jobs.ts'
import { scheduleMaintenance, startTicking, type Ticker } from './maintenance.ts'
import { startSharedWorkers, type SharedQueueWorker } from './shared-queues.ts'
import type { WorkerParts } from './worker-parts.ts'

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
/** Next to the API's port, for when all processes run on one machine. */
const USUAL_METRICS_PORT = 9465
const USUAL_METRICS_PORT_FOR_WEBHOOKS = 9466

await runProcess('worker', async () => {
  const config = readConfig()
  const name = describeWorker(config)
  const log = createLog(name, config.LOG_LEVEL)
  const tracing = await startTracing('worker', config, log)
  const metrics = createMetrics()
  const circuits = workerCircuits(!worksOnlyOnWebhooks(config))
  const base = wireWorkerBase(config, log, engineObserver(metrics, circuits), name)
  await requireSafeDatabase(config, base.store)
  const shutdown = createShutdown(systemClock, config.SHUTDOWN_TIMEOUT_MS)
  const stopping = new AbortController()
  const parts = await wireParts(config, base, shutdown, stopping.signal)
  const metricsServer = await serveWorkerMetrics(metrics, base, config)
  const { ordered, shared } = handlersOf(config, base, parts)
  const jobs = openJobStore({
    url: requireDatabaseUrl(config),
    applicationName: `atomic-payments ${name} jobs`,
    timeoutMs: config.STORE_TIMEOUT_MS,
    role: config.DATABASE_SERVICE_ROLE,
    failed: base.observe.storeFailed,
  })
  const boss = createBoss(jobs, await jobBackend(base.store.sql), config, log)
  await boss.start()
  // The queues keep the settings of the process that wrote them last: of one that works on them.
  await ensureQueues(boss, config, new Set([...ordered, ...shared].map(({ queue }) => queue)))
  for (const handler of ordered) {
    await boss.work(handler.queue, workOptions(handler), (batch) =>
      Promise.all(batch.map((job) => handler.handle(job))),
    )
  }
  const sharedWorkers = startSharedWorkers({ boss, sql: jobs.sql, store: base.store, log }, shared)
  const ticking = await startMaintenance(boss, config, parts)
  const reporter = startReporting({
    sql: base.store.sql,
    log,
    process: { kind: 'worker', queues: config.WORKER_QUEUES, version: readVersion() },
    circuits: circuits.read,
  })
  stopOnSignal(config.SHUTDOWN_TIMEOUT_MS, (reason) => {
    shutdown.begin()
    stopping.abort(new Error('the worker stops'))
    log.info({ reason }, 'stopping; completing the phases in progress')
    const running = { boss, jobs, sharedWorkers, ticking, reporter, metricsServer, tracing }
    return stop(running, base, shutdown, config)
  })
  log.info({ concurrency: config.WORKER_CONCURRENCY }, 'working')
  announceReady()
})

/** Its name in the log and in pg_stat_activity. */
function describeWorker({ WORKER_QUEUES }: Config): string {
  const worksOnAll = WORKER_QUEUES.length === queueGroups.length
  return worksOnAll ? 'worker' : `worker ${WORKER_QUEUES.join(' ')}`
}

function worksOnlyOnWebhooks({ WORKER_QUEUES }: Config): boolean {
  return WORKER_QUEUES.every((group) => group === 'webhooks')
}

/** A worker for webhooks alone gets none: it has no key of the provider, and never calls it. */
async function wireParts(
  config: Config,
  base: WorkerBase,
  shutdown: Shutdown,
  stopping: AbortSignal,
): Promise<WorkerParts | undefined> {
  if (worksOnlyOnWebhooks(config)) return undefined
  const engine = { ...(await wireEngine(config, base)), shutdown }
  // Before the first job needs it. What goes wrong is told with that job.
  for (const provider of engine.providers.all) provider.readAccount().catch(() => {})
  return { engine, settings: config, stopping }
}

function handlersOf(config: Config, base: WorkerBase, parts: WorkerParts | undefined): JobHandlers {
  const groups: JobHandlers[] = []
  const worksOn = (group: QueueGroup) => config.WORKER_QUEUES.includes(group)
  if (parts && worksOn('payments')) groups.push(paymentHandlers(parts))
  if (parts && worksOn('maintenance')) groups.push(maintenanceHandlers(parts))
  if (worksOn('webhooks')) groups.push(webhookHandlers(wireWebhooks(config, base), config))
  return {
    shared: groups.flatMap(({ shared }) => shared),
    ordered: groups.flatMap(({ ordered }) => ordered),
  }
}

function serveWorkerMetrics(
  metrics: Metrics,
  { store, clock, log }: WorkerBase,
  config: Config,
): Promise<MetricsServer> {
  metrics.exportProcess()
  for (const group of config.WORKER_QUEUES) metrics.set('worker_queues', { group }, 1)
  exportStoreGauges(
    metrics,
    () => readHealthFigures(store.sql),
    () => clock.monotonicMs(),
  )
  const port = worksOnlyOnWebhooks(config) ? USUAL_METRICS_PORT_FOR_WEBHOOKS : USUAL_METRICS_PORT
  return serveMetrics(metrics, port, config, log)
}

function createBoss(jobs: JobStore, backend: BackendProfile, config: Config, log: Logger): PgBoss {
  // A job of a crashed worker is found within a quarter of a lease after it expires.
  const superviseSeconds = Math.max(1, Math.round(config.LEASE_MS / 4_000))
  const boss = new PgBoss({
    db: jobs,
    schema: JOB_SCHEMA,
    backend,
    migrate: false,
    // Without a worker for maintenance nothing would fetch these jobs.
    schedule: config.WORKER_QUEUES.includes('maintenance'),
    superviseIntervalSeconds: superviseSeconds,
    monitorIntervalSeconds: superviseSeconds,
    maintenanceIntervalSeconds: DELETION_INTERVAL_SECONDS,
  })
  boss.on('error', (error) => log.warn({ err: error }, 'the job queue failed'))
  boss.on('warning', ({ message }) => log.warn({ message }, 'the job queue warns'))
  return boss
}

function workOptions({ concurrency, pollSeconds }: JobHandler) {
  return {
    batchSize: BATCH_SIZE,
    localConcurrency: Math.ceil(concurrency / BATCH_SIZE),
    burstWhenBatchFull: true,
    includeMetadata: true,
    perJobResults: true,
    pollingIntervalSeconds: pollSeconds,
  } as const
}

/** Only a worker for maintenance schedules its tasks and runs them. */
async function startMaintenance(
  boss: PgBoss,
  { WORKER_QUEUES }: Config,
  parts: WorkerParts | undefined,
): Promise<Ticker | undefined> {
  if (parts === undefined || !WORKER_QUEUES.includes('maintenance')) return undefined
  await scheduleMaintenance(boss)
  return startTicking(parts)
}

interface Running {
  readonly boss: PgBoss
  readonly jobs: JobStore
  readonly sharedWorkers: readonly SharedQueueWorker[]
  readonly ticking: Ticker | undefined
  readonly reporter: ProcessReporter
  readonly metricsServer: MetricsServer
  readonly tracing: Tracing
}

async function stop(
  { boss, jobs, sharedWorkers, ticking, reporter, metricsServer, tracing }: Running,
  { store, log }: WorkerBase,
  shutdown: Shutdown,
  config: Config,
): Promise<void> {
  // Concurrently, so that no job is fetched while a task ends. A task can be interrupted at any
  // point.
  await Promise.all([
    ticking && beforeDue(shutdown, ticking.stop()),
    ...sharedWorkers.map((worker) => worker.stop(GIVE_BACK_SHARE * config.SHUTDOWN_TIMEOUT_MS)),
    boss.stop({ graceful: true, timeout: config.SHUTDOWN_TIMEOUT_MS }),
  ])
  await reporter.stop()
  await Promise.all([store.close(), jobs.close(), metricsServer.stop(), tracing.stop()])
  log.info('stopped')
}
