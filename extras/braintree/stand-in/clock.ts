// The clock of the stand-in.

/** The machine's clock plus an offset that tests increase, in milliseconds since 1970. */
export interface Clock {
  now(): number
  advance(seconds: number): void
  reset(): void
}

export function createClock(systemNow: () => number): Clock {
  let offsetMs = 0
  return {
    now: () => systemNow() + offsetMs,
    advance: (seconds) => void (offsetMs += seconds * 1_000),
    reset: () => void (offsetMs = 0),
  }
}
