// Provides the operator key of a stack without ADMIN_API_KEY: the first start generates it and
// stores it in the data folder.
import type { Config } from '../../src/config.ts'
import { generateSecret, readOrCreateSecret } from './stored-secret.ts'

/** Returns the same key for the same DATA_DIR, and undefined when ADMIN_API_KEY is set. */
export async function readAdminApiKey(
  config: Pick<Config, 'DATA_DIR' | 'ADMIN_API_KEY'>,
): Promise<string | undefined> {
  if (config.ADMIN_API_KEY !== undefined) return undefined
  return await readOrCreateSecret(config.DATA_DIR, 'admin-api-key', () => generateSecret('adm_'))
}
