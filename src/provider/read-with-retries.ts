// Repeats a read that is not urgent, such as a page of a list, after a temporary failure.
import { setTimeout as wait } from 'node:timers/promises'
import type { OnRepeat } from './payment-provider.ts'

/** The read fails after this many failures. */
const TRIES = 4
/** The delay before the second try. It doubles with each further try. */
const RETRY_DELAY_MS = 500

/**
 * Reads a few times, with growing delays.
 *
 * @param isPassing whether the same read may succeed a moment later.
 * @throws the last failure, and what `onRepeat` throws.
 */
export async function readWithRetries<Value>(
  read: () => Promise<Value>,
  isPassing: (failure: unknown) => boolean,
  onRepeat: OnRepeat = () => {},
): Promise<Value> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await read()
    } catch (error) {
      if (tries === TRIES || !isPassing(error)) throw error
      onRepeat(error)
      await wait(RETRY_DELAY_MS * 2 ** (tries - 1))
    }
  }
}
