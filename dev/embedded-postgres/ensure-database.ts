// Creates a database of the embedded server when it does not exist.
import { withStore } from './with-store.ts'
import type { EmbeddedPostgres } from './postgres.ts'

/** Returns the URL of the database, and creates the database if necessary. */
export async function ensureDatabase(server: EmbeddedPostgres, name: string): Promise<string> {
  await withStore(server.url('postgres'), async ({ sql }) => {
    const [existing] = await sql`select 1 from pg_database where datname = ${name}`
    if (existing === undefined) await sql`create database ${sql(name)}`
  })
  return server.url(name)
}
