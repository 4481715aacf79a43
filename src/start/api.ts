// The API process: settings, parts, listen, and a stop that finishes what it has begun.
import { once } from 'node:events'
import type { Server, ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { createApp } from '../http/server/app.ts'
import { readConfig } from '../config.ts'
import { createApiServer } from '../http/limits/create-api-server.ts'
import { createLog } from '../log.ts'
import { createMetrics } from '../metrics/metrics.ts'
import { apiObserver } from '../metrics/observers.ts'
import { serveMetrics } from '../metrics/serve-metrics.ts'
import { announceReady, runProcess, stopOnSignal } from '../process.ts'
import { startTracing } from '../tracing/start-tracing.ts'
import { wireApi } from '../wiring.ts'

const IDLE_SWEEP_MS = 20
/** For the request of a connection that was just opened; behind it, those without one are closed. */
const SILENCE_MAX_MS = 1_000
/** The one that OpenTelemetry's exporter for Prometheus has made usual. */
const USUAL_METRICS_PORT = 9464

await runProcess('api', async () => {
  const config = readConfig()
  const log = createLog('api', config.LOG_LEVEL)
  const tracing = await startTracing('api', config, log)
  const metrics = createMetrics()
  metrics.exportProcess()
  const stopping = new AbortController()
  const parts = { ...wireApi(config, log, apiObserver(metrics)), stopping: stopping.signal }
  const metricsServer = await serveMetrics(metrics, USUAL_METRICS_PORT, config, log)
  const server = createApiServer(createApp(parts), parts)
  const unanswered = keepUnanswered(server)
  await listen(server, config.PORT, config.HOST)
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  stopOnSignal(config.SHUTDOWN_TIMEOUT_MS, async (reason) => {
    log.info({ reason }, 'stopping')
    stopping.abort()
    askToLeave(server, unanswered)
    await delay(config.DRAIN_DELAY_MS)
    const closed = once(server, 'close')
    server.close()
    // Requests that wait for a result are told that it is not there yet.
    await parts.watch.stop()
    const silentUntil = performance.now() + SILENCE_MAX_MS
    const sweep = setInterval(() => {
      // A connection whose last request is answered only now would be kept alive for seconds.
      server.closeIdleConnections()
      // Node has ceased to look at its own time limits, and would wait for ever.
      const isSilent = unanswered.size === 0 && performance.now() > silentUntil
      if (isSilent) server.closeAllConnections()
    }, IDLE_SWEEP_MS)
    await closed
    clearInterval(sweep)
    await Promise.all([parts.store.close(), metricsServer.stop(), tracing.stop()])
    log.info('stopped')
  })
  log.info({ host: config.HOST, port }, 'listening')
  announceReady()
})

/** The answers that are still owed. */
function keepUnanswered(server: Server): ReadonlySet<ServerResponse> {
  const unanswered = new Set<ServerResponse>()
  server.prependListener('request', (_request: unknown, response: ServerResponse) => {
    unanswered.add(response)
    response.once('close', () => unanswered.delete(response))
  })
  return unanswered
}

/**
 * Every answer from now on tells its client to send the next request over another connection: those
 * to requests that are here already, too, or their connections would be closed under the next one.
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
    throw new Error(`port ${port} is taken; set PORT to another one`, { cause: error })
  })
}
