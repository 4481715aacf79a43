// Writes intents: one transaction reserves the keys of several requests and writes what they are for.
import type { Sql, Transaction } from '../connection/client.ts'
import { inTenant, lastly, together } from '../connection/transaction.ts'
import {
  eventsOfChange,
  findSubscribers,
  writeEvents,
  type ResourceKind,
  type ResourceRow,
  type Subscriber,
} from '../events/write-events.ts'
import { insertStarted } from '../operations/phase-runs.ts'
import { addOperationJobs } from '../queue/jobs.ts'
import { keyFromRow, type IdempotencyKey, type KeyRow } from './idempotency-key-rows.ts'
import { findKeyRows, findReservedKey } from './idempotency-keys.ts'
import type { Intent } from './intent.ts'
import { releaseKeys, reserveKeys, type ReservedRow } from './reserve-keys.ts'
import type { WriteResources, WrittenResource } from './resources.ts'

/**
 * The state of the resource does not allow the operation. Nothing was written, not even the key.
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

/** Reserves one key like `reserveEach`, for callers that need only the key. Throws like a reservation. */
export async function reserveIntent(
  sql: Sql,
  intent: Intent,
  write: WriteResources,
): Promise<IdempotencyKey> {
  const [outcome] = await reserveEach(sql, [intent], write)
  return (await requireReserved(sql, intent, outcome)).key
}

/** What the transaction found: a key, its refusal, or a key that was deleted meanwhile. */
export type ReservationOutcome = Reservation | 'refused' | 'duplicate-reference' | undefined

/**
 * The key of the outcome. Reads again what the transaction did not see.
 *
 * @throws IntentRefusedError when the key was free but its resource was not.
 * @throws DuplicateReferenceError when the key was free but its reference was not.
 * @throws KeyExpiredError when the key has expired and must not be reused.
 */
export async function requireReserved(
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
  const { holders, outcomes } = await inTenant(sql, tenantId, (tx) =>
    writeIntents(tx, tenantId, intents, write),
  )
  const used = new Map(holders.map((row) => [row.key, keyFromRow(row)]))
  return intents.map(({ id, key }) => {
    const holder = used.get(key)
    return outcomes.get(id) ?? (holder && { key: holder, resource: null })
  })
}

interface WrittenIntents {
  /** The rows of the keys that were used already. */
  readonly holders: readonly KeyRow[]
  /** Of the intents whose key was free, by their ids. */
  readonly outcomes: ReadonlyMap<string, ReservationOutcome>
}

/** Keys first, then what they are for, and at last what begins with it. */
async function writeIntents(
  tx: Transaction,
  tenantId: string,
  intents: readonly Intent[],
  write: WriteResources,
): Promise<WrittenIntents> {
  const [reserved, customers, subscribers] = await together([
    reserveKeys(tx, tenantId, intents),
    findOwnedCustomers(tx, tenantId, intents),
    findSubscribers(tx, tenantId),
  ])
  const rowOf = new Map(reserved.map((row) => [row.id, row]))
  const won = intents.filter(({ id }) => rowOf.has(id))
  const others = intents.filter(({ id }) => !rowOf.has(id))
  const allowed = won.filter(({ details }) => ownsCustomer(customers, details))
  const written = allowed.length === 0 ? NOTHING : await write(tx, tenantId, allowed)
  const accepted = won.flatMap((intent): Accepted[] => {
    const [row, resource] = [rowOf.get(intent.id), written.get(intent.id)]
    return row && typeof resource === 'object' ? [{ intent, row, resource }] : []
  })
  const refused = won.filter(({ id }) => typeof written.get(id) !== 'object')
  const following = [
    releaseKeys(tx, tenantId, refused),
    findKeyRows(tx, tenantId, others),
    writeBeginnings(tx, tenantId, accepted, subscribers),
  ] as const
  // Deliveries follow the events that they are of.
  const areLast = subscribers.length === 0 && others.length === 0
  const [, holders] = await (areLast ? lastly(tx, following) : together(following))
  requireHolders(intents, others, holders)
  const outcomes = new Map<string, ReservationOutcome>([
    ...refused.map(({ id }) => [id, refusalOf(written.get(id))] as const),
    ...accepted.map(({ row, resource }) => [row.id, { key: keyFromRow(row), resource }] as const),
  ])
  return { holders, outcomes }
}

/** @throws an error when the key of an intent is free again, because another one gave it back. */
function requireHolders(
  intents: readonly Intent[],
  others: readonly Intent[],
  holders: readonly KeyRow[],
): void {
  const used = new Set(holders.map(({ key }) => key))
  const isShared = ({ id, key }: Intent) =>
    intents.some((other) => other.id !== id && other.key === key)
  if (others.some((other) => !used.has(other.key) && isShared(other))) {
    throw new Error('the key of an intent is free again')
  }
}

const NOTHING: ReadonlyMap<string, WrittenResource> = new Map()

/** An intent whose key is reserved, and whose resource is written. */
interface Accepted {
  readonly intent: Intent
  readonly row: ReservedRow
  readonly resource: ResourceRow
}

const refusalOf = (written: WrittenResource | undefined) =>
  written === 'duplicate-reference' ? written : 'refused'

/** Writes with what operations begin: a line in the timeline, a job, and the event of the resource. */
async function writeBeginnings(
  tx: Transaction,
  tenantId: string,
  accepted: readonly Accepted[],
  subscribers: readonly Subscriber[],
): Promise<void> {
  const jobs = accepted.map(({ intent: { id, traceparent }, row }) => ({
    tenantId,
    id,
    jobId: row.job_id,
    traceparent,
  }))
  const events = accepted.flatMap(({ intent, resource }) =>
    eventsOfChange(kindOf(intent), resource, intent.key),
  )
  await together([
    insertStarted(
      tx,
      accepted.map(({ row }) => row),
    ),
    addOperationJobs(tx, jobs),
    writeEvents(tx, tenantId, events, subscribers),
  ])
}

function kindOf({ refundId, disputeId }: Intent): ResourceKind {
  if (disputeId !== undefined && disputeId !== null) return 'dispute'
  return refundId === null ? 'payment' : 'refund'
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
  details: Intent['details'],
): boolean {
  const { customer = null, provider } = details ?? {}
  if (customer === null) return true
  return owned.some((own) => own.id === customer && own.provider === provider)
}
