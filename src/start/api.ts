// The API process: reads the settings, wires the parts, listens, and completes its requests before
// it stops.
import { once } from 'node:events'
import type { Server, ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { createApp } from '../http/server/app.ts'
import { readConfig, type Config } from '../config.ts'
import { isStoreUnavailable, isUndefinedTable } from '../db/connection/store-errors.ts'
import { startReporting } from './process-reporter.ts'
import { requireSafeDatabase } from '../migrations/database-facts.ts'
import { createApiServer } from '../http/limits/api-server.ts'
import { createLog } from '../log.ts'
import { createMetrics } from '../metrics/metrics.ts'
import { apiObserver, apiCircuits } from '../metrics/observers.ts'
import { serveMetrics } from '../metrics/serve-metrics.ts'
import { announceReady, readVersion, runProcess, stopOnSignal } from '../process.ts'
import { startTracing } from '../tracing/start-tracing.ts'
import { wireApi } from '../wiring.ts'

const IDLE_SWEEP_MS = 20
/**
 * How long a new connection may take to send its request during a shutdown, before it is closed.
 */
const SILENCE_MAX_MS = 1_000
/** The default port of OpenTelemetry's exporter for Prometheus. */
const USUAL_METRICS_PORT = 9464

await runProcess('api', async () => {
  const config = readConfig()
  const log = createLog('api', config.LOG_LEVEL)
  const tracing = await startTracing('api', config, log)
  const metrics = createMetrics()
  metrics.exportProcess()
  const circuits = apiCircuits()
  const stopping = new AbortController()
  const observe = apiObserver(metrics, circuits)
  const parts = { ...(await wireApi(config, log, observe)), stopping: stopping.signal }
  const metricsServer = await serveMetrics(metrics, USUAL_METRICS_PORT, config, log)
  const server = createApiServer(createApp(parts), parts)
  await checkDatabase(config, parts)
  const unanswered = keepUnanswered(server)
  await listen(server, config.PORT, config.HOST)
  const reporter = startReporting({
    sql: parts.store.sql,
    log,
    process: { kind: 'api', queues: [], version: readVersion() },
    circuits: circuits.read,
  })
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  stopOnSignal(config.SHUTDOWN_TIMEOUT_MS, async (reason) => {
    log.info({ reason }, 'stopping')
    stopping.abort()
    askToLeave(server, unanswered)
    await delay(config.DRAIN_DELAY_MS)
    const closed = once(server, 'close')
    server.close()
    // Requests that wait for a result are answered without it.
    parts.keyed.watch.stop()
    parts.live.stop()
    parts.keyed.answers.close()
    const silentUntil = performance.now() + SILENCE_MAX_MS
    const sweep = setInterval(() => {
      // A connection whose last request is answered just now would stay open for seconds.
      server.closeIdleConnections()
      // After `close`, Node no longer enforces its time limits, and would wait forever.
      const isSilent = unanswered.size === 0 && performance.now() > silentUntil
      if (isSilent) server.closeAllConnections()
    }, IDLE_SWEEP_MS)
    await closed
    clearInterval(sweep)
    await Promise.all([reporter.stop(), parts.keyed.replays.stop()])
    await Promise.all([parts.store.close(), metricsServer.stop(), tracing.stop()])
    log.info('stopped')
  })
  log.info({ host: config.HOST, port }, 'listening')
  announceReady()
})

const CHECK_AGAIN_MS = 1_000

/**
 * Ends the start when the database cannot keep the guarantees. While it cannot be reached, or is not
 * migrated, the process starts, is not ready, and ends when the check fails later.
 */
async function checkDatabase(
  config: Config,
  parts: Pick<Awaited<ReturnType<typeof wireApi>>, 'store' | 'log'>,
): Promise<void> {
  try {
    await requireSafeDatabase(config, parts.store)
  } catch (error) {
    if (!isStoreUnavailable(error) && !isUndefinedTable(error)) throw error
    parts.log.warn({ err: error }, 'not ready: the database cannot be checked')
    const again = () => runProcess('api', () => checkDatabase(config, parts))
    setTimeout(() => void again(), CHECK_AGAIN_MS).unref()
  }
}

/** Keeps the set of responses that are not sent yet. */
function keepUnanswered(server: Server): ReadonlySet<ServerResponse> {
  const unanswered = new Set<ServerResponse>()
  server.prependListener('request', (_request: unknown, response: ServerResponse) => {
    unanswered.add(response)
    response.once('close', () => unanswered.delete(response))
  })
  return unanswered
}

/**
 * Sets `Connection: close` on every response from now on, so that clients send their next request
 * over another connection. This includes responses to current requests; otherwise the server would
 * close their connections while the next request is being sent.
 */
function askToLeave(server: Server, unanswered: ReadonlySet<ServerResponse>): void {
  unanswered.forEach(closeAfter)
  server.prependListener('request', (_request: unknown, response: ServerResponse) =>
    closeAfter(response),
  )
}

function closeAfter(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('connection', 'close')
}

async function listen(server: Server, port: number, host: string): Promise<void> {
  server.listen(port, host)
  await once(server, 'listening').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EADDRINUSE') throw error
    throw new Error(`port ${port} is in use; set PORT to another port`, { cause: error })
  })
}
