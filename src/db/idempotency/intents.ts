// Writes intents: one transaction reserves the keys of several requests and writes what they are for.
// Requests of a tenant that arrive together share one, each with its own outcome and the guarantees of its
// own key. Tenants do not share one: one that waits for a lock of a tenant delays no other.
import { createBatches, type BatchLimits } from '../connection/batches.ts'
import type { Sql, Transaction } from '../connection/client.ts'
import { inTenant, thenCommit, together } from '../connection/transaction.ts'
import {
  eventsOfChange,
  findSubscribers,
  writeEvents,
  type ResourceRow,
  type Subscriber,
} from '../events/write-events.ts'
import { insertStarted } from '../operations/phase-runs.ts'
import { addOperationJobs } from '../queue/jobs.ts'
import {
  findEach,
  findKeyRows,
  findReservedKey,
  keyFromRow,
  type IdempotencyKey,
  type KeyName,
} from './idempotency-keys.ts'
import type { Intent, WriteResources, WrittenResource } from './intent.ts'
import { deleteKeys, reserveKeys, type ReservedRow } from './reserve-keys.ts'

/**
 * The resource refuses the operation: its state does not allow it, the tenant may not charge the customer, or
 * a rule of the route forbids it. Nothing was written, not even the key.
 */
export class IntentRefusedError extends Error {
  override name = 'IntentRefusedError'
}

/** Another payment or refund of the tenant uses the reference. Nothing was written. */
export class DuplicateReferenceError extends IntentRefusedError {
  override name = 'DuplicateReferenceError'
}

/**
 * A key, and the row of the resource that the reservation created or changed, if this request made
 * it.
 */
export interface Reservation {
  readonly key: IdempotencyKey
  readonly resource: ResourceRow | null
}

/** See `requireReserved`. */
export type Reserve = (sql: Sql, intent: Intent, write: WriteResources) => Promise<Reservation>

/** See `findIdempotencyKey`. */
export type FindKey = (sql: Sql, name: KeyName) => Promise<IdempotencyKey | undefined>

const tenantOf = ({ tenantId }: KeyName): string => tenantId

/** Intents with the same function `write` share transactions. */
export function batchReservations(limits?: BatchLimits): Reserve {
  const createBatchesOf = (write: WriteResources) =>
    createBatches((intents: readonly Intent[], sql: Sql) => reserveEach(sql, intents, write), {
      groupOf: tenantOf,
      subjectOf: ({ paymentId }) => paymentId,
      limits,
    })
  const batches = new WeakMap<WriteResources, ReturnType<typeof createBatchesOf>>()
  return async (sql, intent, write) => {
    const reserve = batches.get(write) ?? createBatchesOf(write)
    batches.set(write, reserve)
    return await requireReserved(sql, intent, await reserve(intent, sql))
  }
}

export function batchLookUps(limits?: BatchLimits): FindKey {
  const find = createBatches((names: readonly KeyName[], sql: Sql) => findEach(sql, names), {
    groupOf: tenantOf,
    limits,
  })
  return (sql, name) => find(name, sql)
}

/** Reserves one key like `reserveEach`, for callers that need only the key. Throws like a reservation. */
export async function reserveIntent(
  sql: Sql,
  intent: Intent,
  write: WriteResources,
): Promise<IdempotencyKey> {
  const [outcome] = await reserveEach(sql, [intent], write)
  return (await requireReserved(sql, intent, outcome)).key
}

/** A key, or its refusal; undefined for a key that is not free and has no row: `findReservedKey` says why. */
type ReservationOutcome = Reservation | 'refused' | 'duplicate-reference' | undefined

/**
 * The key of the outcome. Reads again what the transaction did not see.
 *
 * @throws IntentRefusedError when the key was free but its resource was not.
 * @throws DuplicateReferenceError when the key was free but its reference was not.
 * @throws KeyExpiredError when the key has expired and must not be reused.
 */
async function requireReserved(
  sql: Sql,
  intent: Intent,
  outcome: ReservationOutcome,
): Promise<Reservation> {
  if (outcome === 'refused') throw new IntentRefusedError('the intent was refused')
  if (outcome === 'duplicate-reference') {
    throw new DuplicateReferenceError('the reference is in use')
  }
  return outcome ?? { key: await findReservedKey(sql, intent), resource: null }
}

/**
 * Reserves the keys of intents of one tenant, and writes what they are for: the resources, their events,
 * the first lines of their timelines and the jobs, in one transaction. For a key that is already used
 * nothing is written, and its row is returned: its id tells whether this reservation won. So repeating it
 * after a lost acknowledgment is safe. An intent is refused without effect on the others when its customer
 * is not its tenant's, or `write` returns nothing for it.
 *
 * @throws an error when two intents are about one payment, or one gives back a key that another one asks
 *   for. Nothing is written.
 */
export async function reserveEach(
  sql: Sql,
  intents: readonly Intent[],
  write: WriteResources,
): Promise<ReservationOutcome[]> {
  const [{ tenantId } = { tenantId: '' }] = intents
  // A row is changed once, and both would find it changed.
  const payments = new Set(intents.map(({ paymentId }) => paymentId))
  if (payments.size < intents.length) throw new Error('two intents are about one payment')
  return await inTenant(sql, tenantId, (tx) => writeIntents(tx, tenantId, intents, write))
}

/** Keys first, then what they are for, and at last what begins with it. */
async function writeIntents(
  tx: Transaction,
  tenantId: string,
  intents: readonly Intent[],
  write: WriteResources,
): Promise<ReservationOutcome[]> {
  const [reserved, customers, subscribers] = await together([
    reserveKeys(tx, tenantId, intents),
    findOwnedCustomers(tx, tenantId, intents),
    findSubscribers(tx, tenantId),
  ])
  const rowOf = new Map(reserved.map((row) => [row.id, row]))
  const won = intents.filter(({ id }) => rowOf.has(id))
  const others = intents.filter(({ id }) => !rowOf.has(id))
  const allowed = won.filter((intent) => ownsCustomer(customers, intent))
  const written = allowed.length === 0 ? NOTHING : await write(tx, tenantId, allowed)
  const accepted = won.flatMap((intent): Accepted[] => {
    const [row, resource] = [rowOf.get(intent.id), written.get(intent.id)]
    return row && typeof resource === 'object' ? [{ intent, row, resource }] : []
  })
  const refused = won.filter(({ id }) => typeof written.get(id) !== 'object')
  const following = [
    deleteKeys(tx, tenantId, refused),
    findKeyRows(tx, tenantId, others),
    writeBeginnings(tx, tenantId, accepted, subscribers),
  ] as const
  // With subscribers, the deliveries are written after the events.
  const areLast = subscribers.length === 0 && others.length === 0
  const [, used] = await (areLast ? thenCommit(tx, following) : together(following))
  const holders = new Map(used.map((row) => [row.key, keyFromRow(row)]))
  return intents.map(({ id, key }): ReservationOutcome => {
    const [row, resource] = [rowOf.get(id), written.get(id)]
    if (row !== undefined) {
      return typeof resource === 'object'
        ? { key: keyFromRow(row), resource }
        : (resource ?? 'refused')
    }
    const holder = holders.get(key)
    // Another intent gave the key back.
    if (holder === undefined && intents.some((other) => other.id !== id && other.key === key)) {
      throw new Error('the key of an intent is free again')
    }
    return holder && { key: holder, resource: null }
  })
}

const NOTHING: ReadonlyMap<string, WrittenResource> = new Map()

/** An intent whose key is reserved, and whose resource is written. */
interface Accepted {
  readonly intent: Intent
  readonly row: ReservedRow
  readonly resource: ResourceRow
}

/** Writes what every new operation begins with: a line in the timeline, a job, and an event. */
async function writeBeginnings(
  tx: Transaction,
  tenantId: string,
  accepted: readonly Accepted[],
  subscribers: readonly Subscriber[],
): Promise<void> {
  const rows = accepted.map(({ row }) => row)
  const jobs = accepted.map(({ intent: { id, traceparent }, row }) => ({
    tenantId,
    id,
    jobId: row.job_id,
    traceparent,
  }))
  const events = accepted.flatMap(({ intent: { key, refundId, disputeId }, resource }) =>
    eventsOfChange(disputeId ? 'dispute' : refundId ? 'refund' : 'payment', resource, key),
  )
  await together([
    insertStarted(tx, rows),
    addOperationJobs(tx, jobs),
    writeEvents(tx, tenantId, events, subscribers),
  ])
}

/** Those of the customers that the tenant may charge. */
async function findOwnedCustomers(
  tx: Transaction,
  tenantId: string,
  intents: readonly Intent[],
): Promise<readonly { readonly provider: string; readonly id: string }[]> {
  const named = intents.flatMap(({ details }) => details?.customer ?? [])
  if (named.length === 0) return []
  return await tx<{ provider: string; id: string }[]>`
    select provider, id from provider_customers
    where tenant_id = ${tenantId} and id = any(${named}::text[])
  `
}

function ownsCustomer(
  owned: Awaited<ReturnType<typeof findOwnedCustomers>>,
  { details: { customer = null, provider } = {} }: Intent,
): boolean {
  return customer === null || owned.some((own) => own.id === customer && own.provider === provider)
}
