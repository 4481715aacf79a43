// Creates the tenant of the embedded stack, so that a new user has an API key to try.
import { authenticateKey } from '../../src/db/tenants/api-keys.ts'
import { openStore } from '../../src/db/connection/client.ts'
import { createTenant } from '../../src/db/tenants/tenants.ts'

/** Creates the tenant with the API key unless the key already works. */
export async function ensureDemoTenant(databaseUrl: string, apiKey: string): Promise<void> {
  const store = openStore({
    url: databaseUrl,
    applicationName: 'atomic-payments demo tenant',
    poolSize: 1,
    timeoutMs: 10_000,
  })
  try {
    const key = await authenticateKey(store, apiKey)
    if (key === undefined) await createTenant(store, { name: 'Demo', apiKey })
  } finally {
    await store.close()
  }
}
