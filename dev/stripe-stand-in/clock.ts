// Implements the clock of the stand-in: the machine's clock plus an offset that tests set. All
// ages are measured with it, above all those of idempotency keys.
import type { Settings } from './settings.ts'

const OFFSET = 'clock_offset_ms'

export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
  advance(seconds: number): void
  /** Sets how far it is ahead of the machine's clock; behind it, if negative. */
  setAhead(seconds: number): void
  /** Returns to the machine's time. */
  reset(): void
}

/** Creates the clock from `systemNow`, in milliseconds since 1970, and the stored offset. */
export function createClock(settings: Settings, systemNow: () => number): Clock {
  let offsetMs = Number(settings.read(OFFSET) ?? 0)
  const moveTo = (newOffsetMs: number) => {
    settings.write(OFFSET, String(newOffsetMs))
    offsetMs = newOffsetMs
  }
  return {
    now: () => systemNow() + offsetMs,
    advance: (seconds) => moveTo(offsetMs + seconds * 1000),
    setAhead: (seconds) => moveTo(seconds * 1000),
    reset: () => moveTo(0),
  }
}
