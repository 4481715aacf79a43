// The observer to which the engine reports its work, for metrics. An observer must not change what
// the engine does, and no report names a tenant, a key or a payment.
import type { StoreErrorKind } from '../db/connection/store-errors.ts'
import { eventTypes } from '../domain/events/event-types.ts'
import type { OperationStatus } from '../domain/operations/operation.ts'
import type { Outcome } from '../domain/operations/outcome.ts'

/** An atomic phase of an operation, identified by the recovery point from which it starts. */
interface ObservedPhase {
  readonly operation: string
  readonly phase: string
}

/** Functions that neither wait nor throw. */
export interface EngineObserver {
  /** One try of a provider call ended with this outcome. */
  readonly called: (
    phase: ObservedPhase & { readonly provider: string },
    outcome: Outcome<unknown>['outcome'],
  ) => void
  /** One owner completed a phase: every try of its provider call, and the record. */
  readonly recorded: (phase: ObservedPhase, seconds: number) => void
  /** A change was recorded together with so many events of this type. */
  readonly insertedEvents: (type: string, times: number) => void
  /** A run ended without a final outcome and left the operation in this status. */
  readonly gaveBack: (status: OperationStatus) => void
  /** A run ended because another owner took over. */
  readonly lostLease: () => void
  /** A circuit to a provider opened, or all are closed. */
  readonly turnedProvider: (isOpen: boolean) => void
  /** A provider limited the rate of a request, for this reason. */
  readonly limitedByProvider: (provider: string, reason: string) => void
  /** How far the clock of this process is from the provider's, by the Date of an answer. */
  readonly comparedClocks: (provider: string, seconds: number) => void
  /** The schedule requested so many reconciliations. */
  readonly scheduledReconciliations: (times: number) => void
  /** A maintenance task ran. `did` contains its counts, or is undefined when it failed. */
  readonly ranTask: (
    task: string,
    seconds: number,
    did: Readonly<Record<string, number>> | undefined,
  ) => void
  /** The store could not serve a statement or a transaction. */
  readonly storeFailed: (kind: StoreErrorKind) => void
}

/**
 * The types of the events that are reported. A reservation inserts the first event of a payment and
 * of a refund, and a run without a final outcome inserts the others: these have reports of their own.
 * Deliveries insert those of webhook endpoints.
 */
export const observedEvents: readonly string[] = eventTypes.filter(
  (type) =>
    !/^(payment|refund)\.(created|unknown)$|^payment\.failed$|^refund\.processing$|^webhook_endpoint\./.test(
      type,
    ),
)

const ignore = (): void => {}

/** For an engine without metrics. */
export const silentObserver: EngineObserver = {
  called: ignore,
  recorded: ignore,
  insertedEvents: ignore,
  gaveBack: ignore,
  lostLease: ignore,
  turnedProvider: ignore,
  limitedByProvider: ignore,
  comparedClocks: ignore,
  scheduledReconciliations: ignore,
  ranTask: ignore,
  storeFailed: ignore,
}
