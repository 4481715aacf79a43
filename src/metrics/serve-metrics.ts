// Serves GET /metrics and nothing else, on a port apart from the API's, because metrics are for the
// people who run the service.
import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import { isIPv6, type AddressInfo } from 'node:net'
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import type { Metrics } from './metrics.ts'

/** A scrape is one short request. A client that takes longer to send it is not a scraper. */
const REQUEST_LIMIT_MS = 5_000
/** More than the number of scrapers, but too few to be a burden. */
const CONNECTIONS_MAX = 20

export interface MetricsServer {
  stop(): Promise<void>
}

/**
 * Serves the metrics of this process on METRICS_PORT. If it is not set, uses `usualPort`, or a free
 * port if `usualPort` is in use. Logs the URL.
 *
 * @throws Error when METRICS_PORT is set and in use.
 */
export async function serveMetrics(
  metrics: Metrics,
  usualPort: number,
  { METRICS_HOST, METRICS_PORT }: Pick<Config, 'METRICS_HOST' | 'METRICS_PORT'>,
  log: Logger,
): Promise<MetricsServer> {
  const server = createMetricsServer(metrics, log)
  if (METRICS_PORT !== undefined) {
    await listen(server, METRICS_PORT, METRICS_HOST)
  } else if (!(await listenIfFree(server, usualPort, METRICS_HOST))) {
    log.warn(`port ${usualPort} is in use; metrics use a free port (set METRICS_PORT to fix it)`)
    await listen(server, 0, METRICS_HOST)
  }
  server.on('error', (error) => log.warn({ err: error }, 'the metrics server failed'))
  log.info(`metrics at ${urlOf(server)}`)
  return {
    async stop() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

function createMetricsServer(metrics: Metrics, log: Logger): Server {
  const server = createServer(
    {
      requestTimeout: REQUEST_LIMIT_MS,
      headersTimeout: REQUEST_LIMIT_MS,
      connectionsCheckingInterval: 1_000,
    },
    (request, response) => {
      // The body of a request is ignored. It must be read, or it would block the connection.
      request.resume()
      const [path] = (request.url ?? '').split('?')
      if (path !== '/metrics') end(response, 404, 'not found\n')
      else if (request.method !== 'GET') end(response, 405, 'only GET\n', { allow: 'GET' })
      else void answer(metrics, response, log)
    },
  )
  server.maxConnections = CONNECTIONS_MAX
  return server
}

async function answer(metrics: Metrics, response: ServerResponse, log: Logger): Promise<void> {
  try {
    end(response, 200, await metrics.scrape(), { 'content-type': metrics.contentType })
  } catch (error) {
    log.error({ err: error }, 'a scrape failed')
    end(response, 500, 'failed\n')
  }
}

function end(
  response: ServerResponse,
  status: number,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', ...headers }).end(body)
}

async function listen(server: Server, port: number, host: string): Promise<void> {
  if (await listenIfFree(server, port, host)) return
  throw new Error(`port ${port} is in use; set METRICS_PORT to another port`)
}

async function listenIfFree(server: Server, port: number, host: string): Promise<boolean> {
  server.listen(port, host)
  try {
    await once(server, 'listening')
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return false
    throw error
  }
}

function urlOf(server: Server): string {
  const { address, port } = server.address() as AddressInfo
  return `http://${isIPv6(address) ? `[${address}]` : address}:${port}/metrics`
}
