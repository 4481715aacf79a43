// Provides the encryption key of a stack without ENCRYPTION_KEYS: the first start generates it and
// stores it in the data folder, beside the database that it encrypts.
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../../src/config.ts'
import { openStore } from '../../src/db/connection/client.ts'
import { readNeededKeys } from '../../src/db/encryption/seals.ts'
import { StartError } from '../start-error.ts'
import { readOrCreateSecret } from './stored-secret.ts'

const FILE = 'encryption-keys'

/**
 * Returns the setting for the services, always the same for a DATA_DIR. Empty when it is set.
 *
 * @param databaseUrl of the owner of the migrated database.
 * @throws StartError when the key is gone, and the database has values that it encrypted.
 */
export async function readEncryptionKeys(
  { DATA_DIR, ENCRYPTION_KEYS }: Pick<Config, 'DATA_DIR' | 'ENCRYPTION_KEYS'>,
  databaseUrl: string,
): Promise<{ ENCRYPTION_KEYS?: string }> {
  if (ENCRYPTION_KEYS !== undefined) return {}
  if (!existsSync(join(DATA_DIR, FILE))) await requireNoSealedValue(databaseUrl, DATA_DIR)
  return { ENCRYPTION_KEYS: await readOrCreateSecret(DATA_DIR, FILE, generateKey) }
}

async function requireNoSealedValue(url: string, folder: string): Promise<void> {
  const store = openStore({
    url,
    applicationName: 'atomic-payments start',
    poolSize: 1,
    timeoutMs: 10_000,
  })
  try {
    const needed = await readNeededKeys(store.sql, { first: undefined, keys: [] })
    if (needed.length === 0) return
    const names = needed.map(({ name }) => name).join(', ')
    throw new StartError(
      `${join(folder, FILE)} is missing, but the database has values that were encrypted with the ` +
        `key ${names}. Put the file back, or set ENCRYPTION_KEYS to what it contained. To begin ` +
        'anew without the payments so far, set DATA_DIR to an empty folder. If the key is lost, see ' +
        '"A lost key" in docs/runbook.md.',
    )
  } finally {
    await store.close()
  }
}

function generateKey(): string {
  return `local:${randomBytes(32).toString('base64')}`
}
