// Checks that the keys of a process open what the database has stored. The first process that encrypts
// with a key seals a known text with it before.
import { ConfigError, type EncryptionKey, type EncryptionKeys } from '../config-formats.ts'
import type { Sql } from '../db/connection/client.ts'
import { createEncryption, EncryptionError } from './encryption.ts'

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
  refuseUnopened(await readNeededKeys(sql, keys))
  await sealKey(sql, keys)
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

/**
 * Reads which keys the database needs. A seal is null when an operator has given up the values of its
 * key.
 */
export async function readNeededKeys(
  sql: Sql,
  keys: readonly EncryptionKey[],
): Promise<NeededKey[]> {
  const seals = await sql<{ name: string; sealed: string }[]>`
    select name, sealed from encryption_seals where sealed is not null order by name
  `
  return seals.map(({ name, sealed }): NeededKey => {
    const key = keys.find((own) => own.name === name)
    if (key === undefined) return { name, state: 'missing' }
    try {
      createEncryption([key]).decrypt(placeOf(name), sealed)
      return { name, state: 'opens' }
    } catch (error) {
      if (!(error instanceof EncryptionError)) throw error
      return { name, state: 'differs' }
    }
  })
}

/** Seals the text with the first key, unless the text is sealed already. */
export async function sealKey(sql: Sql, keys: EncryptionKeys): Promise<void> {
  const [{ name }] = keys
  const sealed = createEncryption(keys).encrypt(placeOf(name), SEALED_TEXT)
  await sql`
    insert into encryption_seals (name, sealed) values (${name}, ${sealed})
    on conflict do nothing
  `
}

/** Forgets all keys but one: no stored value needs them. Only the owner of the database may. */
export async function forgetOtherSeals(sql: Sql, name: string): Promise<void> {
  await sql`delete from encryption_seals where name <> ${name}`
}
