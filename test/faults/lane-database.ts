// Makes the databases of lanes: empty ones, or copies of one that was migrated.
import { openStore } from '../../src/db/client.ts'
import type { LaneOptions } from './lane.ts'

/** Returns the URL by which its owner reaches it. */
export async function makeDatabase({
  server,
  name,
  template = 'template1',
}: Pick<LaneOptions, 'server' | 'name' | 'template'>): Promise<string> {
  const store = openStore({
    url: server.url('postgres'),
    applicationName: 'fault suite',
    poolSize: 1,
    timeoutMs: 30_000,
  })
  try {
    await store.sql`create database ${store.sql(name)} template ${store.sql(template)}`
    return server.url(name)
  } finally {
    await store.close()
  }
}
