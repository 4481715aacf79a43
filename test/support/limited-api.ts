// Runs an API without a worker inside the test process, with its own database. Accepted operations
// stay unfinished, so that a test controls when a limit is reached.
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import type { Server } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import pino from 'pino'
import { createApp } from '../../src/http/server/app.ts'
import { readConfig } from '../../src/config.ts'
import { openStore, type Store } from '../../src/db/connection/client.ts'
import { createTenant } from '../../src/db/tenants/tenants.ts'
import type { ApiParts } from '../../src/http/endpoint.ts'
import { createApiServer, type ServerTimeouts } from '../../src/http/limits/api-server.ts'
import { wireApi } from '../../src/wiring.ts'
import { ENCRYPTION_KEYS } from './encryption.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'
import type { Tenant } from './service.ts'

export interface ServedApi {
  readonly url: string
  readonly parts: ApiParts
  readonly server: Server
}

export interface LimitedApi {
  readonly url: string
  readonly store: Store
  readonly parts: ApiParts
  readonly server: Server
  createTenant(): Promise<Tenant>
  /** Starts another API on the same database, with other settings. */
  serve(settings: Record<string, string>): Promise<ServedApi>
  stop(): Promise<void>
}

export async function startLimitedApi(
  settings: Record<string, string> = {},
  timeouts?: ServerTimeouts,
): Promise<LimitedApi> {
  const database = await createTestDatabase()
  return await startOn(database, settings, timeouts)
}

/** Runs it on the database of a service, which its owner removes. */
export async function startLimitedApiOn(
  url: string,
  settings: Record<string, string> = {},
): Promise<LimitedApi> {
  return await startOn({ url, drop: () => Promise.resolve() }, settings)
}

async function startOn(
  database: Pick<TestDatabase, 'url' | 'drop'>,
  settings: Record<string, string>,
  timeouts?: ServerTimeouts,
): Promise<LimitedApi> {
  const running: { server: Server; parts: ApiParts }[] = []
  const serve = async (own: Record<string, string>) => {
    const environment = {
      DATABASE_URL: database.url,
      DATABASE_POOL_SIZE: '3',
      WAIT_SECONDS: '0',
      ENCRYPTION_KEYS,
    }
    const parts = await wireApi(readConfig({ ...environment, ...own }), pino({ level: 'silent' }))
    const server = createApiServer(createApp(parts), parts, timeouts).listen(0, '127.0.0.1')
    await once(server, 'listening')
    running.push({ server, parts })
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, parts, server }
  }
  const { url, parts, server: first } = await serve(settings)
  const store = openStore({
    url: database.url,
    applicationName: 'test',
    poolSize: 2,
    timeoutMs: 60_000,
  })
  return {
    url,
    store,
    parts,
    server: first,
    serve,
    async createTenant() {
      const apiKey = `sk_test_${randomUUID().replaceAll('-', '')}`
      return { apiKey, id: await createTenant(store, { name: 'test', apiKey }) }
    },
    async stop() {
      for (const { server, parts: own } of running) {
        own.watch.stop()
        own.answers.close()
        const closed = once(server, 'close')
        server.close()
        server.closeAllConnections()
        await closed
        await own.store.close()
      }
      await store.close()
      await database.drop()
    },
  }
}

/** Sends bytes over a TCP connection, and resolves to all received bytes when it closes. */
export async function exchangeRaw(url: string, bytes: string): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  const received: Buffer[] = []
  socket.on('data', (chunk) => received.push(chunk))
  socket.on('error', () => {})
  socket.write(bytes)
  await once(socket, 'close')
  return Buffer.concat(received).toString()
}

/** Parses a raw HTTP response. */
export function parseRaw(answer: string) {
  const [head = '', body = ''] = answer.split('\r\n\r\n')
  const [line = '', ...headers] = head.split('\r\n')
  return {
    status: Number(line.split(' ')[1]),
    headers: Object.fromEntries(
      headers.map((header) => {
        const [name = '', ...value] = header.split(': ')
        return [name.toLowerCase(), value.join(': ')]
      }),
    ) as Record<string, string>,
    json: JSON.parse(body) as Record<string, unknown>,
  }
}
