// Defines the observer that counts what the API served. It receives routes, results and tenant ids,
// and never a path, an idempotency key or a resource id.
import { silentAnswersObserver, type AnswersObserver } from '../answers/answers.ts'
import type { StoreErrorKind } from '../db/connection/store-errors.ts'
import type { ProblemType } from '../domain/problems/problems.ts'

/**
 * Results of a keyed request.
 *
 * - `created`: it created an operation.
 * - `retry`: it reopened an operation that is proved to have had no effect.
 * - `replayed`: it was answered with the stored response.
 * - `in_progress`: the operation of an earlier request is not completed yet.
 * - `misuse`: the idempotency key belongs to another request.
 * - `unknown`: the outcome of the operation is not known yet.
 * - `expired`: the idempotency key has expired and cannot be used again.
 * - `store_error`: the store did not answer, and nothing was accepted.
 */
export const reservationResults = [
  'created',
  'retry',
  'replayed',
  'in_progress',
  'misuse',
  'unknown',
  'expired',
  'store_error',
] as const
export type ReservationResult = (typeof reservationResults)[number]

/**
 * Problem types of requests that were refused because of load or an outage: the tenant or the client
 * address exceeded a limit (429), this process is at its limit (503), or the store is not available
 * (503).
 */
export const refusals = [
  'rate-limited',
  'too-many-invalid-keys',
  'too-many-concurrent-requests',
  'too-many-active-keys',
  'too-many-stored-keys',
  'overloaded',
  'store-unavailable',
] as const satisfies readonly ProblemType[]
type Refusal = (typeof refusals)[number]

/**
 * The circuit breakers of the API: one for looking up API keys, one for reserving idempotency keys.
 */
export const storeCircuits = ['store_reads', 'store_reservations'] as const
type StoreCircuit = (typeof storeCircuits)[number]

interface ServedRequest {
  readonly method: string
  /** Undefined when no route matches the path. */
  readonly route: string | undefined
  readonly status: number
  readonly seconds: number
}

/** Implementations must neither wait nor throw. */
export interface ApiObserver extends AnswersObserver {
  readonly reserved: (tenantId: string, result: ReservationResult) => void
  readonly served: (request: ServedRequest) => void
  readonly refused: (reason: Refusal) => void
  /** A circuit opened or closed. */
  readonly turned: (circuit: StoreCircuit, isOpen: boolean) => void
  /** The store could not serve a statement or a transaction. */
  readonly storeFailed: (kind: StoreErrorKind) => void
}

/** Counts nothing. */
export const silentApiObserver: ApiObserver = {
  ...silentAnswersObserver,
  reserved() {},
  served() {},
  refused() {},
  turned() {},
  storeFailed() {},
}
