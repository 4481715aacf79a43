// How long the engine waits between tries inside one lease.
import type { Engine } from './engine.ts'

/** `CALL_RETRY_DELAY_MS`, doubled with each try, of which a random half is taken off, in milliseconds. */
export function backoff({ settings, random }: Engine, triesMade: number): number {
  return settings.CALL_RETRY_DELAY_MS * 2 ** (triesMade - 1) * (1 - random() / 2)
}
