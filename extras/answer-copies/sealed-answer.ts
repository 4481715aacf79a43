// Encrypts a key and its answer for Redis, and accepts only what this service encrypted for the same
// tenant, idempotency key and epoch. An intruder in Redis can remove copies, but cannot forge them.
import { createHash } from 'node:crypto'
import { columnOf, ENCRYPTED } from '../../src/encryption/encryption.ts'
import type { IdempotencyKey, KeyName } from '../../src/db/idempotency/idempotency-keys.ts'

/** A whole answer in Redis. It has no row: its id is its epoch and its idempotency key. */
const sharedAnswer = columnOf('redis.answers')

/** Changes with the members of `IdempotencyKey`: another version of this service may read a copy. */
const FORMAT = 1

/** The name in Redis. It shows neither the tenant nor the idempotency key, which may name a person. */
export function nameInRedis(epoch: string, { tenantId, key }: KeyName): string {
  const place = [FORMAT, epoch, tenantId, key].join('\n')
  return createHash('sha256').update(place).digest('base64url')
}

/** @param untilMs when the copy ends, in milliseconds since 1970. Redis may keep it longer. */
export function sealAnswer(epoch: string, key: IdempotencyKey, untilMs: number): string {
  const text = JSON.stringify({ untilMs, key })
  return sharedAnswer.encrypt(placeOf(epoch, key), text)
}

/**
 * Returns undefined for a copy that has ended.
 *
 * @throws EncryptionError, or another Error, for anything that is no copy of this key and epoch.
 */
export function openAnswer(
  epoch: string,
  name: KeyName,
  sealed: string,
  nowMs: number,
): IdempotencyKey | undefined {
  // A plain text would be returned as it is, without a proof that this service wrote it.
  if (!sealed.startsWith(ENCRYPTED)) throw new Error('a copy of an answer is not encrypted')
  const text = sharedAnswer.decrypt(placeOf(epoch, name), sealed)
  const { untilMs, key } = JSON.parse(text, reviveBuffer)
  if (untilMs <= nowMs) return undefined
  return {
    ...key,
    createdAt: new Date(key.createdAt),
    expiresAt: new Date(key.expiresAt),
    earlier: key.earlier && { ...key.earlier, expiredAt: new Date(key.earlier.expiredAt) },
  }
}

/** Buffers become objects of this form in JSON. Bodies are text, and headers have no objects. */
function reviveBuffer(_name: string, value: { type?: unknown; data: number[] } | null): unknown {
  return value?.type === 'Buffer' ? Buffer.from(value.data) : value
}

/** Keys contain no line break. */
function placeOf(epoch: string, { tenantId, key }: KeyName): { tenantId: string; id: string } {
  return { tenantId, id: [FORMAT, epoch, key].join('\n') }
}
