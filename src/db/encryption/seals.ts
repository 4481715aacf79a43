// Checks that the keys of a process open what the database has stored. The first process that encrypts
// with a key seals a known text with it. Values from before the first seal are tried themselves.
import { ConfigError } from '../../config-error.ts'
import type { EncryptionKeys } from '../../config-formats.ts'
import type { Sql } from '../connection/client.ts'
import { asService } from '../connection/transaction.ts'
import { createEncryption, ENCRYPTED, EncryptionError, keyNameOf } from './encryption.ts'
import { placeIn, storedColumns, valueIn, type StoredColumn } from './rotation.ts'

const SEALED_TEXT = 'atomic-payments'

const placeOf = (name: string) => ({ tenantId: '', column: 'encryption_seals.sealed', id: name })

/** A key that the database needs, and whether a process opened a value with it. */
export interface NeededKey {
  readonly name: string
  readonly state: 'opens' | 'differs' | 'missing'
}

/**
 * Checks that the keys open what is stored, and seals a text with the key that encrypts.
 *
 * @throws ConfigError that names each key which is missing or another one, and what to do.
 */
export async function requireStoredKeys(sql: Sql, keys: EncryptionKeys): Promise<void> {
  const needed = await readNeededKeys(sql, keys)
  refuseUnopened(needed)
  const { first } = keys
  const opened = needed.map(({ name }) => name)
  await sealKeys(sql, keys, first === undefined ? opened : [first.name, ...opened])
  // Another process may have begun with another key at the same moment.
  refuseUnopened(await readNeededKeys(sql, keys))
}

/** @throws ConfigError unless each key opens what it has encrypted. */
export function refuseUnopened(needed: readonly NeededKey[]): void {
  const lines = describeUnopened(needed)
  if (lines.length === 0) return
  throw new ConfigError(
    `ENCRYPTION_KEYS does not open what the database has stored: ${lines.join('; ')}. ` +
      'Set the keys with which it was written, those of a restored backup too. If a key is lost, see ' +
      '"A lost key" in docs/runbook.md. A new key needs a name of its own.',
  )
}

export function describeUnopened(needed: readonly NeededKey[]): string[] {
  return needed.flatMap(({ name, state }) => {
    if (state === 'opens') return []
    return [
      state === 'missing'
        ? `it has no key with the name ${name}`
        : `its key ${name} is not the one that encrypted`,
    ]
  })
}

/** Reads which keys the database needs. Before the first seal a sample of stored values says so. */
export async function readNeededKeys(sql: Sql, { keys }: EncryptionKeys): Promise<NeededKey[]> {
  const { decrypt } = createEncryption({ first: undefined, keys })
  const known = new Set(keys.map(({ name }) => name))
  const judge = (name: string, open: () => void): NeededKey => {
    if (!known.has(name)) return { name, state: 'missing' }
    try {
      open()
      return { name, state: 'opens' }
    } catch (error) {
      if (!(error instanceof EncryptionError)) throw error
      return { name, state: 'differs' }
    }
  }
  const seals = await readSeals(sql)
  if (seals.length > 0) {
    return seals.flatMap(({ name, sealed }) =>
      sealed === null ? [] : [judge(name, () => decrypt(placeOf(name), sealed))],
    )
  }
  const samples = await Promise.all(storedColumns.map((column) => readSample(sql, column)))
  const judged = samples
    .flat()
    .map(({ tenantId, boundTo, stored, column }) =>
      judge(keyNameOf(stored) ?? '', () => decrypt({ tenantId, column, id: boundTo }, stored)),
    )
  // A value that was changed does not open either: one of several that does proves the key.
  const opened = judged.filter(({ state }) => state === 'opens')
  return [...new Map([...judged, ...opened].map((key) => [key.name, key])).values()]
}

/** A seal is null when an operator has given up the values of its key. */
async function readSeals(sql: Sql): Promise<{ name: string; sealed: string | null }[]> {
  return await sql<{ name: string; sealed: string | null }[]>`
    select name, sealed from encryption_seals order by name
  `
}

/** A table without encrypted values is not read to its end. */
const SAMPLE_ROWS = 1_000

/** Reads one value of each key, from the first rows of the table. */
async function readSample(sql: Sql, column: StoredColumn) {
  const rows = await asService(sql)<{ tenantId: string; boundTo: string; stored: string }[]>`
    with looked_at as materialized (
      select tenant_id, ${sql(column.boundTo)} as bound_to, ${valueIn(sql, column)} as stored
      from ${placeIn(sql, column).table}
      limit ${SAMPLE_ROWS}
    )
    select distinct on (split_part(stored, '.', 3))
      tenant_id as "tenantId", bound_to as "boundTo", stored
    from looked_at
    where starts_with(stored, ${ENCRYPTED})
  `
  return rows.map((row) => ({ ...row, column: column.values.name }))
}

/** Seals the text with each key that has a name of the list, unless it is sealed already. */
export async function sealKeys(
  sql: Sql,
  { keys }: EncryptionKeys,
  names: readonly string[],
): Promise<void> {
  for (const key of keys.filter(({ name }) => names.includes(name))) {
    const { encrypt } = createEncryption({ first: key, keys: [key] })
    await sql`
      insert into encryption_seals (name, sealed)
      values (${key.name}, ${encrypt(placeOf(key.name), SEALED_TEXT)})
      on conflict do nothing
    `
  }
}

/** Forgets all keys but one, or all: no stored value needs them. Only the owner of the database may. */
export async function forgetOtherSeals(sql: Sql, name: string | undefined): Promise<void> {
  await sql`delete from encryption_seals where name is distinct from ${name ?? null}`
}
