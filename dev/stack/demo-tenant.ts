// Creates the tenant of the embedded stack, so that a new user has an API key to try.
import { authenticateKey } from '../../src/db/tenants/api-keys.ts'
import { createTenant } from '../../src/db/tenants/tenants.ts'
import { withStore } from '../embedded-postgres/with-store.ts'

/** Creates the tenant with the API key unless the key already works. */
export async function ensureDemoTenant(databaseUrl: string, apiKey: string): Promise<void> {
  await withStore(databaseUrl, async (store) => {
    const key = await authenticateKey(store, apiKey)
    if (key === undefined) await createTenant(store, { name: 'Demo', apiKey })
  })
}
