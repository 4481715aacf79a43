// Implements the clock of the stand-in: the machine's clock plus an offset that tests set. All
// ages are measured with it, above all those of idempotency keys.
import type { Settings } from './settings.ts'

const OFFSET = 'clock_offset_ms'

export type Clock = ReturnType<typeof createClock>

/** Creates the clock from `systemNow`, in milliseconds since 1970, and the stored offset. */
export function createClock(settings: Settings, systemNow: () => number) {
  let offsetMs = Number(settings.read(OFFSET) ?? 0)
  const moveTo = (newOffsetMs: number) => {
    settings.write(OFFSET, String(newOffsetMs))
    offsetMs = newOffsetMs
  }
  return {
    /** Milliseconds since 1970. */
    now: () => systemNow() + offsetMs,
    advance: (seconds: number) => moveTo(offsetMs + seconds * 1000),
    /** Sets how far it is ahead of the machine's clock; behind it, if negative. */
    setAhead: (seconds: number) => moveTo(seconds * 1000),
  }
}
