// What the API tells of the requests that it has served, to whoever counts. It names routes and kinds,
// never a path, a key or a resource; a tenant by its id alone.
import type { ProblemType } from '../domain/problems/problems.ts'

/**
 * What became of a keyed request. `created`: a new operation. `retry`: an operation that is proved to have
 * done nothing was set going again. `replayed`: answered with the stored response. `in_progress`: another
 * request's operation is not done yet. `misuse`: the key belongs to another request. `unknown`: its
 * outcome is not known yet. `expired`: the key is gone, and is not taken again. `store_error`: the
 * store did not answer, and nothing was accepted.
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
 * Why a request was refused that would otherwise have been served, by the type of its problem: the tenant
 * has had enough (429), this process has, or the store cannot serve (503).
 */
export const refusals = [
  'rate-limited',
  'too-many-active-keys',
  'overloaded',
  'store-unavailable',
] as const satisfies readonly ProblemType[]
export type Refusal = (typeof refusals)[number]

/** The circuits of the API's breakers: of who asks whose API key it is, and of who reserves a key. */
export const storeCircuits = ['store_reads', 'store_reservations'] as const
export type StoreCircuit = (typeof storeCircuits)[number]

export interface ServedRequest {
  readonly method: string
  /** Undefined for a path that no route has. */
  readonly route: string | undefined
  readonly status: number
  readonly seconds: number
}

/** Plain functions that neither wait nor throw. */
export interface ApiObserver {
  readonly reserved: (tenantId: string, result: ReservationResult) => void
  readonly served: (request: ServedRequest) => void
  readonly refused: (why: Refusal) => void
  /** A circuit has opened, or closed again. */
  readonly turned: (circuit: StoreCircuit, isOpen: boolean) => void
}

/** For an API whose requests nobody counts. */
export const silentApiObserver: ApiObserver = {
  reserved() {},
  served() {},
  refused() {},
  turned() {},
}
