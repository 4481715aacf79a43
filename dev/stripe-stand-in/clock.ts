// The provider's own clock: the machine's, moved ahead by as much as a test asked for. Everything
// that ages here, idempotency keys above all, ages by this clock.
import type { Settings } from './settings.ts'

const OFFSET = 'clock_offset_ms'

export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
  advance(seconds: number): void
  /** Back to the machine's time. */
  reset(): void
}

/**
 * Sets the clock by `systemNow`, in milliseconds since 1970, and by how far it was moved before.
 */
export function createClock(settings: Settings, systemNow: () => number): Clock {
  let offsetMs = Number(settings.read(OFFSET) ?? 0)
  const moveTo = (newOffsetMs: number) => {
    settings.write(OFFSET, String(newOffsetMs))
    offsetMs = newOffsetMs
  }
  return {
    now: () => systemNow() + offsetMs,
    advance: (seconds) => moveTo(offsetMs + seconds * 1000),
    reset: () => moveTo(0),
  }
}
