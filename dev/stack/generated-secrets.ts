// Provides the secrets of a stack whose settings have none: the first start generates them and stores
// them in the data folder, in files that only their owner can read. Later starts read them. Creates the
// demo tenant, so that a new user has an API key to try.
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../../src/config.ts'
import { readNeededKeys } from '../../src/encryption/seals.ts'
import { authenticateKey, makeApiKey } from '../../src/db/tenants/api-keys.ts'
import { createTenant } from '../../src/db/tenants/tenants.ts'
import { writePrivately } from '../../src/start/stack-settings.ts'
import { withStore } from '../embedded-postgres/with-store.ts'
import { StartError } from '../start-error.ts'

/** Returns the API key of the demo tenant. */
export async function readDemoApiKey({
  DATA_DIR,
  DEMO_API_KEY,
}: Pick<Config, 'DATA_DIR' | 'DEMO_API_KEY'>): Promise<string> {
  return DEMO_API_KEY ?? (await readOrCreate(DATA_DIR, 'demo-api-key', makeApiKey))
}

/** Creates the tenant with the API key unless the key already works. */
export async function ensureDemoTenant(databaseUrl: string, apiKey: string): Promise<void> {
  await withStore(databaseUrl, async (store) => {
    const key = await authenticateKey(store, apiKey)
    if (key === undefined) await createTenant(store, { name: 'Demo', apiKey })
  })
}

/** Returns the operator key; undefined when ADMIN_API_KEY is set. */
export async function readAdminApiKey({
  DATA_DIR,
  ADMIN_API_KEY,
}: Pick<Config, 'DATA_DIR' | 'ADMIN_API_KEY'>): Promise<string | undefined> {
  if (ADMIN_API_KEY !== undefined) return undefined
  return await readOrCreate(DATA_DIR, 'admin-api-key', makeAdminApiKey)
}

const ENCRYPTION_FILE = 'encryption-keys'

/**
 * Returns the setting for the services. Empty when it is set.
 *
 * @param databaseUrl of the owner of the migrated database.
 * @throws StartError when the key is gone, and the database has values that it encrypted.
 */
export async function readEncryptionKeys(
  { DATA_DIR, ENCRYPTION_KEYS }: Pick<Config, 'DATA_DIR' | 'ENCRYPTION_KEYS'>,
  databaseUrl: string,
): Promise<{ ENCRYPTION_KEYS?: string }> {
  if (ENCRYPTION_KEYS !== undefined) return {}
  if (!existsSync(join(DATA_DIR, ENCRYPTION_FILE)))
    await requireNoSealedValue(databaseUrl, DATA_DIR)
  return { ENCRYPTION_KEYS: await readOrCreate(DATA_DIR, ENCRYPTION_FILE, makeEncryptionKey) }
}

const makeAdminApiKey = () => `adm_${randomBytes(20).toString('hex')}`
const makeEncryptionKey = () => `local:${randomBytes(32).toString('base64')}`

async function requireNoSealedValue(url: string, folder: string): Promise<void> {
  const needed = await withStore(url, ({ sql }) => readNeededKeys(sql, []))
  if (needed.length === 0) return
  const names = needed.map(({ name }) => name).join(', ')
  throw new StartError(
    `${join(folder, ENCRYPTION_FILE)} is missing, but the database has values that were encrypted ` +
      `with the key ${names}. Put the file back, or set ENCRYPTION_KEYS to what it contained. To ` +
      'begin anew without the payments so far, set DATA_DIR to an empty folder. If the key is lost, ' +
      'see "A lost key" in docs/runbook.md.',
  )
}

async function readOrCreate(folder: string, name: string, make: () => string): Promise<string> {
  const file = join(folder, name)
  if (!existsSync(file)) await writePrivately(file, make())
  return readFile(file, 'utf8')
}
