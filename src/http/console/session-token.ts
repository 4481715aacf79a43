// Makes the token of a session, and what is derived from it. Nothing here is stored but hashes.
import { createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto'

const TOKEN_BYTES = 32

export function makeSessionToken(): string {
  return randomBytes(TOKEN_BYTES).toString('base64url')
}

export function hashSessionToken(token: string): Buffer {
  return hash('sha256', token, 'buffer')
}

/**
 * Proves that the operator's key opened the session. Who can write to the database alone can make no
 * session, and a session ends when its key is removed from the settings.
 */
export function proveKey(operatorKey: string, tokenHash: Buffer): Buffer {
  return createHmac('sha256', operatorKey).update(tokenHash).digest()
}

/**
 * The token with which the page proves that a change is its own: another site can send the cookie,
 * but cannot read this. It is the same for the whole session, in every process.
 */
export function csrfTokenOf(token: string): string {
  return createHmac('sha256', token).update('csrf').digest('base64url')
}

/** Compares in a time that says nothing about where the texts differ. */
export function equalsSecret(one: Buffer, other: Buffer): boolean {
  return one.length === other.length && timingSafeEqual(one, other)
}
