// Batches the reservations and the look-ups of keys: requests of a tenant that arrive together share
// one transaction. Each gets its own outcome, and the guarantees of its own key. Tenants do not share
// one: one that waits for a lock of a tenant delays no other.
import { createBatches, type BatchLimits, type BatchOptions } from '../connection/batches.ts'
import type { Sql } from '../connection/client.ts'
import type { IdempotencyKey } from './idempotency-key-rows.ts'
import { findEach, type KeyName } from './idempotency-keys.ts'
import type { Intent } from './intent.ts'
import {
  requireReserved,
  reserveEach,
  type Reservation,
  type ReservationOutcome,
} from './intents.ts'
import type { WriteResources } from './resources.ts'

/** See `requireReserved`. */
export type Reserve = (sql: Sql, intent: Intent, write: WriteResources) => Promise<Reservation>

/** See `findIdempotencyKey`. */
export type FindKey = (sql: Sql, name: KeyName) => Promise<IdempotencyKey | undefined>

/** A request with the pool of its tenant. */
interface Asked<Request> {
  readonly sql: Sql
  readonly request: Request
}

/** Intents with the same function `write` share transactions. */
export function batchReservations(limits?: BatchLimits): Reserve {
  type ReserveOne = (asked: Asked<Intent>) => Promise<ReservationOutcome>
  const batches = new WeakMap<WriteResources, ReserveOne>()
  return async (sql, intent, write) => {
    const reserve =
      batches.get(write) ??
      createTenantBatches<Intent, ReservationOutcome>(
        (pool, intents) => reserveEach(pool, intents, write),
        { subjectOf: ({ request }) => request.paymentId, limits },
      )
    batches.set(write, reserve)
    return await requireReserved(sql, intent, await reserve({ sql, request: intent }))
  }
}

export function batchLookUps(limits?: BatchLimits): FindKey {
  const find = createTenantBatches<KeyName, IdempotencyKey | undefined>(findEach, { limits })
  return (sql, name) => find({ sql, request: name })
}

function createTenantBatches<Request extends { readonly tenantId: string }, Result>(
  run: (sql: Sql, requests: readonly Request[]) => Promise<readonly Result[]>,
  options: Omit<BatchOptions<Asked<Request>>, 'groupOf'>,
): (asked: Asked<Request>) => Promise<Result> {
  return createBatches(
    async (batch: readonly Asked<Request>[]) => {
      const [first] = batch
      if (first === undefined) return []
      return await run(
        first.sql,
        batch.map(({ request }) => request),
      )
    },
    { ...options, groupOf: ({ request: { tenantId } }) => tenantId },
  )
}
