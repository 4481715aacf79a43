// Keeps completed answers in the memory of this process, up to a number, a size and an age.
import type { IdempotencyKey, KeyName } from '../../src/db/idempotency/idempotency-keys.ts'

export interface MemoryAnswers {
  /** The completed key, if it was kept in this epoch and neither expired nor grew too old. */
  find(epoch: string, name: KeyName): IdempotencyKey | undefined
  /** Keeps a completed key. Removes those that were not used for the longest time. */
  keep(epoch: string, key: IdempotencyKey): void
}

export interface MemoryBounds {
  readonly answers: number
  readonly bytes: number
  readonly seconds: number
}

interface Kept {
  readonly key: IdempotencyKey
  readonly bytes: number
  readonly untilMs: number
}

/** The objects around the texts of an answer, about. */
const OVERHEAD_BYTES = 1_000

/** @param now in milliseconds since 1970, as the expiry of keys. */
export function createMemoryAnswers(bounds: MemoryBounds, now = Date.now): MemoryAnswers {
  // The least recently used first.
  const kept = new Map<string, Kept>()
  let bytes = 0
  let keptEpoch = ''
  const remove = (name: string): void => {
    bytes -= kept.get(name)?.bytes ?? 0
    kept.delete(name)
  }
  const enter = (epoch: string): void => {
    if (epoch === keptEpoch) return
    keptEpoch = epoch
    kept.clear()
    bytes = 0
  }
  return {
    find(epoch, { tenantId, key }) {
      enter(epoch)
      const name = tenantId + key
      const entry = kept.get(name)
      if (entry === undefined) return undefined
      remove(name)
      if (entry.untilMs <= now()) return undefined
      kept.set(name, entry)
      bytes += entry.bytes
      return entry.key
    },
    keep(epoch, key) {
      enter(epoch)
      const { tenantId, key: text, expiresAt, response } = key
      if (response === null) return
      // The response decrypts its body whenever it is read.
      const copy = { ...key, response: { ...response } }
      const name = tenantId + text
      remove(name)
      const entry = {
        key: copy,
        bytes: OVERHEAD_BYTES + 2 * (name.length + copy.response.body.length),
        untilMs: Math.min(now() + bounds.seconds * 1_000, expiresAt.getTime()),
      }
      kept.set(name, entry)
      bytes += entry.bytes
      for (const oldest of kept.keys()) {
        if (kept.size <= bounds.answers && bytes <= bounds.bytes) break
        remove(oldest)
      }
    },
  }
}
