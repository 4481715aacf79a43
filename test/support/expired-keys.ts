// Ages idempotency keys and tombstones by updates of their times in the database.
import pino from 'pino'
import type { Sql, Store } from '../../src/db/connection/client.ts'
import { reap, type ReaperSettings } from '../../src/recovery/reaper.ts'

/**
 * Longer than any statement in a test takes, so that two of these updates can follow each other.
 */
const HOURS_PAST = 48

/** Makes all keys, or one key, look expired for two days. */
export async function expireKeys(sql: Sql, { id = null }: { id?: string | null } = {}) {
  await sql`
    update idempotency_keys set expires_at = now() - ${HOURS_PAST} * interval '1 hour'
    where ${id}::uuid is null or id = ${id}::uuid
  `
}

/**
 * Backdates every tombstone. `hours` must stay below `HOURS_PAST`: a tombstone is newer than the
 * expiry of its key.
 */
export async function ageTombstones(sql: Sql, hours = 1): Promise<void> {
  await sql`update key_tombstones set deleted_at = now() - ${hours} * interval '1 hour'`
}

const settings: ReaperSettings = {
  KEY_RETENTION_SECONDS: 86_400,
  TOMBSTONE_RETENTION_SECONDS: 86_400,
  REAP_BATCH_SIZE: 500,
  IDEMPOTENCY_FLAVOR: 'ietf',
}

export async function reapKeys(store: Store): Promise<void> {
  await reap({ store, log: pino({ level: 'silent' }) }, settings)
}

/** Lets a key of the tenant expire, and deletes it, or not yet. */
export async function expireKey(
  store: Store,
  tenantId: string,
  key: string,
  { deleted = true } = {},
): Promise<void> {
  const find = async () =>
    await store.sql<{ id: string }[]>`
    select id from idempotency_keys where tenant_id = ${tenantId} and key = ${key}
  `
  const [row] = await find()
  await expireKeys(store.sql, { id: row?.id ?? null })
  if (!deleted) return
  await reapKeys(store)
  if ((await find()).length > 0) throw new Error('the reaper has not deleted the key')
}
