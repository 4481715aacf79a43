// Encrypts what this process writes to the database and decrypts what it reads: stored responses,
// client secrets of payments, and secrets of webhook endpoints. And the answers that it keeps in Redis.
// Each process makes data keys at random and wraps them with the first key of ENCRYPTION_KEYS (envelope
// encryption), both with AES-256-GCM:
//
//   enc.v1.<name of the key>.<wrapped data key>.<nonce, ciphertext and tag>
//
// The place of a value is authenticated with it, so that a value that somebody copies to another
// row, column or tenant does not decrypt.
import { createCipheriv, createDecipheriv, createSecretKey, randomBytes } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import type { EncryptionKeys } from '../config-formats.ts'

interface Row {
  readonly tenantId: string
  readonly id: string
}

/** The row and the column that a value belongs to. */
interface Place extends Row {
  readonly column: string
}

export interface Encryption {
  readonly encrypt: (place: Place, text: string) => string
  /**
   * A fixed text, which is stored plainly, is returned as it is.
   *
   * @throws EncryptionError when the key is missing, or when the value is not the one of this place.
   */
  readonly decrypt: (place: Place, stored: string) => string
  /** What every value begins with that needs no rotation. */
  readonly prefix: string
}

/** A stored value cannot be decrypted. The message contains neither the value nor a key. */
export class EncryptionError extends Error {
  override name = 'EncryptionError'
}

/**
 * What an encrypted value begins with. No plain value does: responses are JSON, and secrets begin
 * with `whsec_` or with an id of the provider.
 */
export const ENCRYPTED = 'enc.v1.'

const ALGORITHM = 'aes-256-gcm'
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** Far below 2 to the power of 32, the limit for random nonces under one key. */
const VALUES_PER_DATA_KEY = 1_000_000
/** A process that runs for weeks does not use one key for all of its values. */
const DATA_KEY_MS = 3_600_000
/** Each process makes one in an hour. */
const CACHED_DATA_KEYS = 1_000

interface DataKey {
  readonly key: KeyObject
  readonly head: string
  readonly endsAt: number
  valuesLeft: number
}

/** @param now in milliseconds, of any clock that only goes forward. */
export function createEncryption(
  keys: EncryptionKeys,
  now: () => number = () => performance.now(),
): Encryption {
  const keyOf = new Map(keys.map(({ name, key }) => [name, key]))
  const [first] = keys
  const prefix = prefixOf(first.name)
  const unwrapped = new Map<string, KeyObject>()
  let current: DataKey | undefined

  const dataKey = (): DataKey => {
    if (current === undefined || current.valuesLeft === 0 || current.endsAt <= now()) {
      const bytes = randomBytes(KEY_BYTES)
      current = {
        key: createSecretKey(bytes),
        head: `${prefix}${seal(first.key, prefix, bytes)}.`,
        endsAt: now() + DATA_KEY_MS,
        valuesLeft: VALUES_PER_DATA_KEY,
      }
    }
    current.valuesLeft -= 1
    return current
  }
  const unwrap = (name: string, wrapped: string): KeyObject => {
    const cached = unwrapped.get(`${name}.${wrapped}`)
    if (cached !== undefined) return cached
    const wrapping = keyOf.get(name)
    if (wrapping === undefined) {
      throw new EncryptionError(`ENCRYPTION_KEYS has no key with the name ${name}`)
    }
    const key = createSecretKey(open(wrapping, prefixOf(name), wrapped))
    const [oldest = ''] = unwrapped.keys()
    if (unwrapped.size >= CACHED_DATA_KEYS) unwrapped.delete(oldest)
    unwrapped.set(`${name}.${wrapped}`, key)
    return key
  }

  return {
    prefix,
    encrypt(place, text) {
      const { key, head } = dataKey()
      return head + seal(key, contextOf(place), Buffer.from(text))
    },
    decrypt(place, stored) {
      if (!stored.startsWith(ENCRYPTED)) return stored
      const [name = '', wrapped = '', sealed = ''] = stored.slice(ENCRYPTED.length).split('.')
      try {
        return open(unwrap(name, wrapped), contextOf(place), sealed).toString()
      } catch (error) {
        if (error instanceof EncryptionError) throw error
        throw new EncryptionError(
          `a value in ${place.column} was changed, belongs to another row, or its key ${name} is ` +
            'not the one that encrypted it',
        )
      }
    },
  }
}

const prefixOf = (name: string): string => `${ENCRYPTED}${name}.`

/** The name of the key that an encrypted value needs. */
export const keyNameOf = (stored: string): string =>
  stored.slice(ENCRYPTED.length).split('.', 1).join('')

/** Ids contain no line break, so that two places never have the same text. */
const contextOf = ({ tenantId, column, id }: Place): string => `${tenantId}\n${column}\n${id}`

/** The nonce, the ciphertext and the tag, in base64url. */
function seal(key: KeyObject, context: string, text: Buffer): string {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(ALGORITHM, key, nonce).setAAD(Buffer.from(context))
  const sealed = [nonce, cipher.update(text), cipher.final(), cipher.getAuthTag()]
  return Buffer.concat(sealed).toString('base64url')
}

function open(key: KeyObject, context: string, text: string): Buffer {
  const sealed = Buffer.from(text, 'base64url')
  const decipher = createDecipheriv(ALGORITHM, key, sealed.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  })
  decipher.setAAD(Buffer.from(context)).setAuthTag(sealed.subarray(-TAG_BYTES))
  const opened = decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES))
  // Verifies the tag. In this mode it returns no bytes.
  decipher.final()
  return opened
}

/**
 * The keys belong to the process, as its environment does: they are set once, when it starts.
 * Passing them with each statement would add a parameter to most functions of src/db.
 */
let encryption: Encryption | undefined

/** Must be called before the first value is read or written. */
export function useEncryption(chosen: Encryption): void {
  encryption = chosen
}

/** @throws Error when the process has not chosen its keys, so that nothing is written plainly. */
export function usedEncryption(): Encryption {
  if (encryption === undefined) throw new Error('useEncryption was not called')
  return encryption
}

/** Encrypts a value of a column, and decrypts it. */
export interface EncryptedColumn {
  /** Is authenticated with each value. */
  readonly name: string
  encrypt<Text extends string | null>(row: Row, text: Text): string | Text
  decrypt<Text extends string | null>(row: Row, stored: Text): string | Text
}

export function columnOf(column: string): EncryptedColumn {
  return {
    name: column,
    encrypt({ tenantId, id }, text) {
      return text === null ? text : usedEncryption().encrypt({ tenantId, column, id }, text)
    },
    decrypt({ tenantId, id }, stored) {
      return stored === null ? stored : usedEncryption().decrypt({ tenantId, column, id }, stored)
    },
  }
}

export const responseBody = columnOf('idempotency_keys.response_body')

/** Also of the payment's events, which have a copy of its row. */
export const clientSecret = columnOf('payments.client_secret')

/** Also of the previous secrets: the statement that rotates a secret moves them there as they are. */
export const endpointSecret = columnOf('webhook_endpoints.secret')
