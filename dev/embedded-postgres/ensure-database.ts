// Creates a database of the embedded server when it does not exist.
import { openStore } from '../../src/db/connection/client.ts'
import type { EmbeddedPostgres } from './postgres.ts'

const TIMEOUT_MS = 30_000

/** Returns the URL of the database, and creates the database if necessary. */
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
