// What an API key looks like, and what it may be used for. The secret itself is in no type here: it
// exists where it is made, and in the one answer that shows it.
import { crc32 } from 'node:zlib'
import { parseId, showId } from '../resource-id.ts'
import { showTenantId } from './tenant.ts'

/**
 * What a key may do, in pairs of a subject and reading or writing it. A route needs exactly one of
 * them. Refunds are apart from payments, because giving money back is what a leaked key is used for.
 */
export const scopes = [
  'payments:read',
  'payments:write',
  'refunds:write',
  'ledger:read',
  'events:read',
  'webhooks:read',
  'webhooks:write',
] as const
export type Scope = (typeof scopes)[number]

/** Stands for every scope, those of later versions included. */
export const EVERY_SCOPE = '*'

/** What a key can be given. */
export const grantableScopes = [EVERY_SCOPE, ...scopes] as const

/** How long a rotated key goes on working unless it is said otherwise: time enough to change over. */
export const ROTATION_GRACE_SECONDS = 24 * 60 * 60
/** Two keys for one purpose are one too many after a week. */
export const ROTATION_GRACE_SECONDS_MAX = 7 * 24 * 60 * 60

/** `retiring`: it was rotated, and works until it expires. Whether its tenant is disabled, it does not say. */
export type ApiKeyStatus = 'active' | 'retiring' | 'expired' | 'revoked'

export interface ApiKey {
  readonly tenantId: string
  readonly id: string
  /** The public part of the key, by which people recognise it. */
  readonly prefix: string
  readonly scopes: readonly string[]
  readonly status: ApiKeyStatus
  readonly createdAt: Date
  readonly expiresAt: Date | null
  readonly revokedAt: Date | null
}

export const showKeyId = (id: string): string => showId('key', id)
export const parseKeyId = (text: string): string | undefined => parseId('key', text)

export function allowsScope(granted: readonly string[], needed: Scope): boolean {
  return granted.includes(EVERY_SCOPE) || granted.includes(needed)
}

/** Not `sk_live_`: those who scan for leaked secrets would take our keys for Stripe's. */
const MARK = 'sk_atomic_'
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const CHECKSUM_LENGTH = 6

/** So many bytes a key is made of, each a letter or a digit of it. */
export const API_KEY_BYTES = 32

/** What every key looks like, those included that were made before there were checksums. */
const ANY_KEY = /^sk_[A-Za-z0-9_]{9,200}$/
const CHECKED_KEY = /^sk_atomic_[0-9A-Za-z]{38}$/

/**
 * A key of these random bytes. 62 does not divide 256, so that some letters come up 5 times in 256: a
 * letter is worth 5.67 bits at least, and the 26 of them behind the public prefix 147.
 */
export function composeApiKey(bytes: Uint8Array): string {
  if (bytes.length !== API_KEY_BYTES) throw new Error(`a key is made of ${API_KEY_BYTES} bytes`)
  const body = MARK + Array.from(bytes, (byte) => BASE62.charAt(byte % BASE62.length)).join('')
  return body + checksumOf(body)
}

/**
 * Whether a text can be a key at all. The checksum (a CRC-32, as in GitHub's tokens) tells a mistyped
 * or truncated key, and a scanner what is none; anyone can compute it, so that it protects nothing. It
 * is asked only of what has the whole form of a key with one: keys that were made before have none.
 */
export function isApiKey(text: string): boolean {
  if (!CHECKED_KEY.test(text)) return ANY_KEY.test(text)
  const body = text.slice(0, -CHECKSUM_LENGTH)
  return text === body + checksumOf(body)
}

function checksumOf(body: string): string {
  let rest = crc32(body)
  let digits = ''
  while (digits.length < CHECKSUM_LENGTH) {
    digits = BASE62.charAt(rest % BASE62.length) + digits
    rest = Math.floor(rest / BASE62.length)
  }
  return digits
}

/** The prefix is public, so it is never more than half of a key. */
const PREFIX_LENGTH_MAX = 16

export function publicPrefix(apiKey: string): string {
  return apiKey.slice(0, Math.min(PREFIX_LENGTH_MAX, Math.floor(apiKey.length / 2)))
}

/** The key as operators are shown it; times in ISO 8601. */
export function presentApiKey(key: ApiKey): Record<string, unknown> {
  return {
    id: showKeyId(key.id),
    object: 'api_key',
    tenant: showTenantId(key.tenantId),
    prefix: key.prefix,
    scopes: key.scopes,
    status: key.status,
    created_at: key.createdAt.toISOString(),
    expires_at: key.expiresAt?.toISOString() ?? null,
    revoked_at: key.revokedAt?.toISOString() ?? null,
  }
}

/** The same with the secret, for the one answer that shows it. */
export function presentNewApiKey(key: ApiKey, secret: string): Record<string, unknown> {
  return { ...presentApiKey(key), secret }
}
