// Defines the clock that the engine uses, and the clock of the system.

/** The clock of the engine. Leases use the database's clock; this one only limits waiting. */
export interface Clock {
  now(): Date
  /** Milliseconds that never go back. */
  monotonicMs(): number
  sleep(ms: number): Promise<void>
}

export const systemClock: Clock = {
  now: () => new Date(),
  monotonicMs: () => performance.now(),
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
}
