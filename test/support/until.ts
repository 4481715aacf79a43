// Waits for another process. Without the pauses, the test would take the processor time that the
// other process needs.
import { setTimeout as delay } from 'node:timers/promises'

const PAUSE_MS = { first: 20, most: 100 }

/** Returns what it finds in the end. If it finds nothing, the timeout of the test ends the wait. */
export async function until<Value>(
  find: () => Value | Promise<Value>,
): Promise<Exclude<Value, false | undefined>> {
  for (let pauseMs = PAUSE_MS.first; ; pauseMs = Math.min(1.2 * pauseMs, PAUSE_MS.most)) {
    const found = await find()
    if (found !== false && found !== undefined) {
      return found as Exclude<Value, false | undefined>
    }
    await delay(pauseMs)
  }
}
