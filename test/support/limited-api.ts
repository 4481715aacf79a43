// Runs an API without a worker inside the test process, with its own database. Accepted operations
// stay unfinished, so that a test controls when a limit is reached.
import { randomUUID } from 'node:crypto'
import type { Server } from 'node:http'
import pino from 'pino'
import { readConfig } from '../../src/config.ts'
import type { Store } from '../../src/db/connection/client.ts'
import { createTenant } from '../../src/db/tenants/tenants.ts'
import type { ApiParts } from '../../src/http/endpoint.ts'
import type { ServerTimeouts } from '../../src/http/limits/api-server.ts'
import { wireApi } from '../../src/wiring.ts'
import { ENCRYPTION_KEYS } from './encryption.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'
import { serveApi, type ServedApi } from './served-api.ts'
import type { Tenant } from './service.ts'
import { openTestStore } from '../db/reservations.ts'

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
  const running: ServedApi[] = []
  const serve = async (own: Record<string, string>) => {
    const environment = {
      DATABASE_URL: database.url,
      DATABASE_POOL_SIZE: '3',
      WAIT_SECONDS: '0',
      ENCRYPTION_KEYS,
    }
    const config = readConfig({ ...environment, ...own })
    const served = await serveApi(await wireApi(config, pino({ level: 'silent' })), timeouts)
    running.push(served)
    return served
  }
  const { url, parts, server } = await serve(settings)
  const store = openTestStore(database.url, 2)
  return {
    url,
    store,
    parts,
    server,
    serve,
    async createTenant() {
      const apiKey = `sk_test_${randomUUID().replaceAll('-', '')}`
      return { apiKey, id: await createTenant(store, { name: 'test', apiKey }) }
    },
    async stop() {
      for (const served of running) await served.stop()
      await store.close()
      await database.drop()
    },
  }
}
