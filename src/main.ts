// The API process: settings, parts, listen, and a stop that finishes what it has begun.
import { once } from 'node:events'
import type { Server, ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { createApp } from './app.ts'
import { readConfig } from './config.ts'
import { createApiServer } from './http/limits/create-api-server.ts'
import { createLog } from './log.ts'
import { createMetrics } from './metrics/metrics.ts'
import { apiObserver } from './metrics/observers.ts'
import { serveMetrics } from './metrics/serve-metrics.ts'
import { announceReady, runProcess, stopOnSignal } from './process.ts'
import { startTracing } from './tracing/start-tracing.ts'
import { wireApi } from './wiring.ts'

const IDLE_SWEEP_MS = 20
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
  await listen(server, config.PORT, config.HOST)
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  stopOnSignal(config.SHUTDOWN_TIMEOUT_MS, async (reason) => {
    log.info({ reason }, 'stopping')
    stopping.abort()
    askToLeave(server)
    await delay(config.DRAIN_DELAY_MS)
    const closed = once(server, 'close')
    server.close()
    // Requests that wait for a result are told that it is not there yet.
    await parts.watch.stop()
    // A connection whose last request is answered only now would be kept alive for seconds.
    const sweep = setInterval(() => server.closeIdleConnections(), IDLE_SWEEP_MS)
    await closed
    clearInterval(sweep)
    await Promise.all([parts.store.close(), metricsServer.stop(), tracing.stop()])
    log.info('stopped')
  })
  log.info({ host: config.HOST, port }, 'listening')
  announceReady()
})

/** Every answer from now on tells its client to send the next request over another connection. */
function askToLeave(server: Server): void {
  server.prependListener('request', (_request: unknown, response: ServerResponse) => {
    response.setHeader('connection', 'close')
  })
}

async function listen(server: Server, port: number, host: string): Promise<void> {
  server.listen(port, host)
  await once(server, 'listening').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EADDRINUSE') throw error
    throw new Error(`port ${port} is taken; set PORT to another one`, { cause: error })
  })
}
