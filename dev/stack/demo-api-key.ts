// The API key of the demo tenant: the one in the settings, or one made at the first start and kept.
import type { Config } from '../../src/config.ts'
import { makeApiKey } from '../../src/db/tenants/api-keys.ts'
import { readKeptSecret } from './kept-secret.ts'

/** The demo tenant's key; a made one is the same at every start with the same DATA_DIR. */
export async function readDemoApiKey(
  config: Pick<Config, 'DATA_DIR' | 'DEMO_API_KEY'>,
): Promise<string> {
  return (
    config.DEMO_API_KEY ?? (await readOrCreateSecret(config.DATA_DIR, 'demo-api-key', makeApiKey))
  )
}
