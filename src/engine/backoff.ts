// Computes how long the engine waits between tries within one lease.
import type { Engine } from './engine.ts'

/** `CALL_RETRY_DELAY_MS`, doubled with each try, minus up to a random half, in milliseconds. */
export function backoff({ settings, random }: Engine, triesMade: number): number {
  return settings.CALL_RETRY_DELAY_MS * 2 ** (triesMade - 1) * (1 - random() / 2)
}
