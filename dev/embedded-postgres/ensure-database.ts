// A database of the embedded server, made when it is missing.
import { openStore } from '../../src/db/connection/client.ts'
import type { EmbeddedPostgres } from './postgres.ts'

const TIMEOUT_MS = 30_000

/** Makes the database unless it is there, and returns its URL. */
export async function ensureDatabase(server: EmbeddedPostgres, name: string): Promise<string> {
  const store = openStore({
    url: server.url('postgres'),
    applicationName: 'atomic-payments start',
    poolSize: 1,
    timeoutMs: TIMEOUT_MS,
  })
  try {
    const [existing] = await store.sql`select 1 from pg_database where datname = ${name}`
    if (existing === undefined) await store.sql`create database ${store.sql(name)}`
    return server.url(name)
  } finally {
    await store.close()
  }
}
