// Shifts timestamps in PostgreSQL when time passes in the model.
import type { Sql } from '../../../src/db/connection/client.ts'
import { keyOfRow } from '../store/schema.ts'
import type { Database } from '../store/database.ts'
import { toText, type Row, type Value } from '../store/rows.ts'

/** Sets each timestamp that the model changed, relative to now. */
export async function shiftTimestamps(sql: Sql, before: Database, after: Database): Promise<void> {
  for (const row of after['idempotency_keys'] ?? []) {
    const rowBefore = before['idempotency_keys']?.find(({ id }) => id === row['id'])
    const changes = changedTimestamps(rowBefore ?? {}, row)
    if (changes === '') continue
    await sql.unsafe(`update idempotency_keys set ${changes} where key = '${toText(row['key'])}'`)
  }
  for (const tombstone of after['key_tombstones'] ?? []) {
    const name = (row: Row) => keyOfRow({ primaryKey: ['tenant_id', 'key_hash'] }, row)
    const rowBefore = before['key_tombstones']?.find((other) => name(other) === name(tombstone))
    const changes = changedTimestamps(rowBefore ?? {}, tombstone)
    if (changes === '') continue
    const hash = toText(tombstone['key_hash'])
    await sql.unsafe(`update key_tombstones set ${changes} where key_hash = '${hash}'`)
  }
}

function changedTimestamps(before: Row, after: Row): string {
  return Object.entries(after)
    .filter(([name, value]) => name.endsWith('_at') && before[name] !== value)
    .map(([name, value]) => `${name} = ${timestampOf(value)}`)
    .join()
}

const timestampOf = (value: Value): string =>
  value === null ? 'null' : `now() + ${Number(value)} * interval '1 second'`
