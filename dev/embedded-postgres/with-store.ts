// Connects to a database for one piece of work.
import { openStore, type Store } from '../../src/db/connection/client.ts'

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
