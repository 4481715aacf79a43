// Waits for another process. Without the pauses, the test would take the processor time that the
// other process needs.
import { setTimeout as delay } from 'node:timers/promises'

const PAUSE_MS = 20

/** Returns what it finds in the end. If it finds nothing, the timeout of the test ends the wait. */
export async function until<Value>(
  find: () => Value | Promise<Value>,
): Promise<Exclude<Value, false | undefined>> {
  for (;;) {
    const found = await find()
    if (found !== false && found !== undefined) {
      return found as Exclude<Value, false | undefined>
    }
    await delay(PAUSE_MS)
  }
}
