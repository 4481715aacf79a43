// Provides the encryption key of a stack without ENCRYPTION_KEYS: the first start generates it and
// stores it in the data folder, beside the database that it encrypts.
import { randomBytes } from 'node:crypto'
import type { Config } from '../../src/config.ts'
import { readOrCreateSecret } from './stored-secret.ts'

/** Returns the setting for the services, always the same for a DATA_DIR. Empty when it is set. */
export async function readEncryptionKeys({
  DATA_DIR,
  ENCRYPTION_KEYS,
}: Pick<Config, 'DATA_DIR' | 'ENCRYPTION_KEYS'>): Promise<{ ENCRYPTION_KEYS?: string }> {
  if (ENCRYPTION_KEYS !== undefined) return {}
  return { ENCRYPTION_KEYS: await readOrCreateSecret(DATA_DIR, 'encryption-keys', generateKey) }
}

function generateKey(): string {
  return `local:${randomBytes(32).toString('base64')}`
}
