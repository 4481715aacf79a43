// Defines the processes of the service, as they report themselves in the database.

export const processKinds = ['api', 'worker'] as const
type ProcessKind = (typeof processKinds)[number]

/** The circuit breakers of a process; see `src/provider/guards.ts` and `store-breaker.ts`. */
export const circuitKinds = ['provider', 'store_reads', 'store_reservations'] as const

/** The states that are reported. A half-open circuit is still open for all calls but one. */
export const reportedStates = ['closed', 'open'] as const

export interface CircuitReport {
  readonly kind: (typeof circuitKinds)[number]
  readonly state: (typeof reportedStates)[number]
  /** How long it has been in this state. */
  readonly seconds: number
}

/** How often a process reports itself. */
export const REPORT_INTERVAL_MS = 10_000

/** A process that has not reported itself for so long counts as gone: two reports are missing. */
export const ALIVE_SECONDS = 30

/** What a process says about itself when it starts. */
export interface ServiceProcess {
  readonly id: string
  readonly kind: ProcessKind
  readonly host: string
  readonly queues: readonly string[]
  readonly version: string
}
