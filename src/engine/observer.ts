// What the engine tells of its work while it does it, to whoever counts. Nothing that is told may change
// what the engine does, and none of it names a tenant, a key or a payment.
import type { OperationStatus } from '../domain/operations/operation.ts'
import type { Outcome } from '../domain/operations/outcome.ts'

/** The atomic phase of an operation, by the recovery point that it starts from. */
export interface ObservedPhase {
  readonly operation: string
  readonly phase: string
}

/** Plain functions that neither wait nor throw. */
export interface EngineObserver {
  /** A foreign call was made, once, and told this. */
  readonly called: (phase: ObservedPhase, outcome: Outcome<unknown>['outcome']) => void
  /** A phase was gone through by one owner: every try of its call, and the record of it. */
  readonly recorded: (phase: ObservedPhase, seconds: number) => void
  /** A run ended without a result and left the operation in this status. */
  readonly gaveBack: (status: OperationStatus) => void
  /** A run ended because another owner had taken over. */
  readonly lostLease: () => void
  /** The provider is not called for a moment, or called again. */
  readonly turnedProvider: (isOpen: boolean) => void
  /** A maintenance task has run: how much of what it did, or undefined when it failed. */
  readonly ranTask: (
    task: string,
    seconds: number,
    did: Readonly<Record<string, number>> | undefined,
  ) => void
}

const ignore = (): void => {}

/** For an engine whose work nobody counts. */
export const silentObserver: EngineObserver = {
  called: ignore,
  recorded: ignore,
  gaveBack: ignore,
  lostLease: ignore,
  turnedProvider: ignore,
  ranTask: ignore,
}
