// Lets keys and tombstones grow old by changing what the database says of them, instead of waiting.
import type { Sql } from '../../src/db/connection/client.ts'

/** Longer than any statement runs in a test, so that two of its kind can follow each other. */
const HOURS_PAST = 48

/** As if the retention of all keys, or of one, were over since two days. */
export async function expireKeys(sql: Sql, { id = null }: { id?: string | null } = {}) {
  await sql`
    update idempotency_keys set expires_at = now() - ${HOURS_PAST} * interval '1 hour'
    where ${id}::uuid is null or id = ${id}::uuid
  `
}

/** As if every tombstone had been written that long ago, and still after its key expired. */
export async function ageTombstones(sql: Sql, hours = 1): Promise<void> {
  await sql`update key_tombstones set buried_at = now() - ${hours} * interval '1 hour'`
}
