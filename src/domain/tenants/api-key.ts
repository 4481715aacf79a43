// The format and scopes of API keys. No type here contains the secret: it exists only
// where it is created, and in the one response that shows it.
import { crc32 } from 'node:zlib'
import { parseId, showId } from '../resource-id.ts'

/**
 * The scopes of an API key. A route requires exactly one scope. Refunds have a scope apart from
 * payments, because a leaked key is typically used to refund money.
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

/** Stands for every scope, including scopes of later versions. */
export const EVERY_SCOPE = '*'

/** The scopes that can be granted to an API key. */
export const grantableScopes = [EVERY_SCOPE, ...scopes] as const

/** How long a rotated key still works by default, so that its users have time to switch. */
export const ROTATION_GRACE_SECONDS = 24 * 60 * 60
/** The longest time for which the old and the new key may both work: a week. */
export const ROTATION_GRACE_SECONDS_MAX = 7 * 24 * 60 * 60

/**
 * `retiring`: rotated, and works until it expires. A disabled tenant does not show in the status.
 */
type ApiKeyStatus = 'active' | 'retiring' | 'expired' | 'revoked'

export interface ApiKey {
  readonly tenantId: string
  readonly id: string
  /** The public part of the key. It lets people recognise a key. */
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

/** Not `sk_live_`: scanners for leaked secrets would mistake our keys for Stripe's. */
const MARK = 'sk_atomic_'
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const CHECKSUM_LENGTH = 6

/** The number of random bytes in a key. Each byte becomes one letter or digit. */
export const API_KEY_BYTES = 32

/** Every key matches this, including keys from before checksums were introduced. */
const ANY_KEY = /^sk_[A-Za-z0-9_]{9,200}$/
const CHECKED_KEY = /^sk_atomic_[0-9A-Za-z]{38}$/

/**
 * Composes a key from random bytes. 256 is not a multiple of 62, so some characters occur 5 times
 * in 256: each character is worth at least 5.67 bits, and the 26 after the public prefix 147 bits.
 */
export function composeApiKey(bytes: Uint8Array): string {
  if (bytes.length !== API_KEY_BYTES) throw new Error(`a key is made of ${API_KEY_BYTES} bytes`)
  const body = MARK + Array.from(bytes, (byte) => BASE62.charAt(byte % BASE62.length)).join('')
  return body + checksumOf(body)
}

/**
 * Whether a text can be an API key at all. The checksum (a CRC-32, as in GitHub's tokens) detects
 * mistyped and truncated keys, and helps scanners for leaked secrets. It protects nothing, because
 * anyone can compute it. It is only checked on texts with the full form of a key, because older
 * keys have none.
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

/** The prefix is public, so it is at most half of a key. */
const PREFIX_LENGTH_MAX = 16

export function publicPrefix(apiKey: string): string {
  return apiKey.slice(0, Math.min(PREFIX_LENGTH_MAX, Math.floor(apiKey.length / 2)))
}
