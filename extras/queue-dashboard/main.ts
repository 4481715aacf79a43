// `npm run dashboard`: serves pg-boss's own dashboard of the queues, read-only, on the loopback
// address, with the rights of the service. Changes are made through /admin, which is audited.
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { parseArgs } from 'node:util'
import { createDashboardHandler, type DashboardHandler } from '@pg-boss/dashboard/handler'
import { ConfigError } from '../../src/config-formats.ts'
import { JOB_SCHEMA } from '../../src/db/queue/jobs.ts'
import { announceReady, runProcess, stopOnSignal } from '../../src/process.ts'
import { readConfigBesideStack } from '../../src/start/stack-settings.ts'
import { openRelay } from './relay.ts'

const LOOPBACK = '127.0.0.1'
const HELP = `Usage: npm run dashboard -- [--port <n>]

Shows the queues and their jobs in a browser of this machine, read-only.

--port <n>  3200 by default. 0: any free port.
`

await runProcess('dashboard', async () => {
  const { port, help } = readArguments()
  if (help) {
    process.stdout.write(HELP)
    return
  }
  const config = await readConfigBesideStack()
  const { DATABASE_URL: url } = config
  if (url === undefined) {
    throw new ConfigError(
      `DATABASE_URL is not set, and no "npm start" runs with DATA_DIR ${config.DATA_DIR}. Run "npm start" ` +
        'in another terminal first, to see the queues of its embedded PostgreSQL, or set DATABASE_URL.',
    )
  }
  const relay = await openRelay({
    url,
    role: config.DATABASE_SERVICE_ROLE,
    timeoutMs: config.STORE_TIMEOUT_MS,
    failed: report,
  })
  // The package reads this only from the environment. Read-only, because a job that is retried
  // alone would find that its work was given up, and because some of the forms need another version
  // of pg-boss.
  process.env['PGBOSS_DASHBOARD_READ_ONLY'] = '1'
  const handler = createDashboardHandler({ databases: [{ url: relay.url, schema: JOB_SCHEMA }] })
  const server = createServer((request, response) => void serve(handler, request, response))
  server.listen(port, LOOPBACK)
  await once(server, 'listening').catch(async (error: NodeJS.ErrnoException) => {
    await relay.close()
    if (error.code !== 'EADDRINUSE') throw error
    const reason = `port ${port} is in use; end the program that uses it, or name another one by --port`
    throw new ConfigError(reason, { cause: error })
  })
  stopOnSignal(config.SHUTDOWN_TIMEOUT_MS, async () => {
    server.close()
    server.closeAllConnections()
    await handler.close()
    await relay.close()
  })
  const address = server.address()
  const chosen = typeof address === 'object' ? address?.port : undefined
  process.stdout.write(`The queues are at http://${LOOPBACK}:${chosen}. Press Ctrl-C to stop.\n`)
  announceReady()
})

/** @throws ConfigError when an argument is wrong. */
function readArguments(): { readonly port: number; readonly help: boolean } {
  try {
    const options = { port: { type: 'string' }, help: { type: 'boolean', short: 'h' } } as const
    const { port = '3200', help = false } = parseArgs({ options }).values
    if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535) throw new Error('--port: 0 to 65535')
    return { port: Number(port), help }
  } catch (error) {
    throw new ConfigError(`${(error as Error).message}\n\n${HELP}`, { cause: error })
  }
}

function report(error: unknown): void {
  process.stderr.write(`dashboard: ${error instanceof Error ? error.message : 'failed'}\n`)
}

/**
 * Answers only requests whose Host is a name of this machine. Otherwise a web page could point its
 * own domain to this address, and the browser would treat its requests as ours (DNS rebinding).
 */
async function serve(
  handler: DashboardHandler,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const host = request.headers.host ?? ''
  if (!/^(127\.0\.0\.1|localhost)(:\d+)?$/.test(host)) {
    response.writeHead(421).end('Use the host name localhost or 127.0.0.1.\n')
    return
  }
  try {
    await send(response, await handler(toRequest(request, host)))
  } catch (error) {
    report(error)
    response.destroy()
  }
}

function toRequest(request: IncomingMessage, host: string): Request {
  const { method = 'GET', url = '/', headersDistinct } = request
  const headers = new Headers()
  for (const [name, values] of Object.entries(headersDistinct)) {
    for (const value of values ?? []) headers.append(name, value)
  }
  const address = new URL(url, `http://${host}`)
  if (method === 'GET' || method === 'HEAD') return new Request(address, { method, headers })
  const body = Readable.toWeb(request) as NonNullable<RequestInit['body']>
  return new Request(address, { method, headers, body, duplex: 'half' })
}

async function send(response: ServerResponse, answer: Response): Promise<void> {
  const headers = [...answer.headers].flat()
  response.writeHead(answer.status, headers)
  if (answer.body === null) response.end()
  else await pipeline(Readable.fromWeb(answer.body), response)
}
