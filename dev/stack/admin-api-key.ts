// The operator's key of a stack whose settings name none: made at the first start and kept.
import type { Config } from '../../src/config.ts'
import { generateSecret, readOrCreateSecret } from './stored-secret.ts'

/** The same at every start with the same DATA_DIR; undefined when the settings have keys of their own. */
export async function readAdminApiKey(
  config: Pick<Config, 'DATA_DIR' | 'ADMIN_API_KEY'>,
): Promise<string | undefined> {
  if (config.ADMIN_API_KEY !== undefined) return undefined
  return await readOrCreateSecret(config.DATA_DIR, 'admin-api-key', () => generateSecret('adm_'))
}
