// Provides the API key of the demo tenant: DEMO_API_KEY, or a key that the first start generates
// and stores in the data folder.
import type { Config } from '../../src/config.ts'
import { makeApiKey } from '../../src/db/tenants/api-keys.ts'
import { readOrCreateSecret } from './stored-secret.ts'

/** Returns the key. A generated one is the same at every start with the same DATA_DIR. */
export async function readDemoApiKey(
  config: Pick<Config, 'DATA_DIR' | 'DEMO_API_KEY'>,
): Promise<string> {
  return (
    config.DEMO_API_KEY ?? (await readOrCreateSecret(config.DATA_DIR, 'demo-api-key', makeApiKey))
  )
}
