// Ages idempotency keys and tombstones by updates of their times in the database.
import type { Sql } from '../../src/db/connection/client.ts'

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
  await sql`update key_tombstones set buried_at = now() - ${hours} * interval '1 hour'`
}
