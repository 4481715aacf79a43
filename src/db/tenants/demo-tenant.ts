// The tenant of the embedded stack, so that a newcomer has an API key to try.
import { authenticateKey } from './api-keys.ts'
import { openStore } from '../connection/client.ts'
import { createTenant } from './tenants.ts'

/** Makes sure that the API key works: makes its tenant unless it is there already. */
export async function ensureDemoTenant(databaseUrl: string, apiKey: string): Promise<void> {
  const store = openStore({
    url: databaseUrl,
    applicationName: 'atomic-payments demo tenant',
    poolSize: 1,
    timeoutMs: 10_000,
  })
  try {
    const known = await authenticateKey(store, apiKey)
    if (known === undefined) await createTenant(store, { name: 'Demo', apiKey })
  } finally {
    await store.close()
  }
}
