// Connects to a database for one piece of work, such as the creation of another database.
import { openStore, type Store } from '../../src/db/connection/client.ts'
import type { EmbeddedPostgres } from './postgres.ts'

const TIMEOUT_MS = 30_000

/** @param url of the owner of the database. */
export async function withStore<Result>(
  url: string,
  work: (store: Store) => Promise<Result>,
): Promise<Result> {
  const store = openStore({
    url,
    applicationName: 'atomic-payments start',
    poolSize: 1,
    timeoutMs: TIMEOUT_MS,
  })
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

/** Returns the URL of the database, and creates the database if necessary. */
export async function ensureDatabase(server: EmbeddedPostgres, name: string): Promise<string> {
  await withStore(server.url('postgres'), async ({ sql }) => {
    const [existing] = await sql`select 1 from pg_database where datname = ${name}`
    if (existing === undefined) await sql`create database ${sql(name)}`
  })
  return server.url(name)
}

/**
 * Makes connections to a throwaway server cheap: by default each costs thousands of rounds of
 * hashing, on both sides.
 *
 * @param url of the server's owner, with the password.
 */
export async function useCheapPasswordHash(url: string): Promise<void> {
  await withStore(url, ({ sql }) =>
    sql.begin(async (tx) => {
      await tx`set local scram_iterations = 1`
      // Needs no escaping: the password has hexadecimal digits only.
      await tx.unsafe(`alter role current_user password '${new URL(url).password}'`)
    }),
  )
}
