// Reserves idempotency keys for clients. One unique constraint decides which request executes a key,
// and one statement writes the intents of several requests.
import type { Fragment, Sql } from '../connection/client.ts'
import { isOfTenant } from '../connection/expected-rows.ts'
import { expectOwn } from '../connection/pool/own-answers.ts'
import { seesTenants } from '../connection/row-security.ts'
import { INTENT_REFUSED, isDuplicateReference, isRaised } from '../connection/store-errors.ts'
import { insertEventsOfChanges, type ResourceKind } from '../events/event-records.ts'
import { insertStarted } from '../operations/phase-runs.ts'
import { enqueueAsked } from '../queue/jobs.ts'
import { mayBeFirst } from './first-sent.ts'
import { keyColumns, keyFromRow, type IdempotencyKey, type KeyRow } from './idempotency-key-rows.ts'
import { findReservedKey, nameOf } from './idempotency-keys.ts'
import { askedRow, type Intent } from './intent.ts'
import { selectTombstone } from './key-tombstones.ts'

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
  readonly resource: Readonly<Record<string, unknown>> | null
}

/** Reserves like `reserveWithResource`, for callers that need only the key. */
export async function reserveIntent(
  sql: Sql,
  intent: Intent,
  resource: Fragment,
): Promise<IdempotencyKey> {
  return (await reserveWithResource(sql, intent, resource)).key
}

/**
 * Reserves one key like `reserveEach`.
 *
 * @throws IntentRefusedError when the key was free but `resource` created or changed no row.
 * @throws DuplicateReferenceError when the key was free but its reference was not.
 * @throws KeyExpiredError when the key has expired and must not be reused.
 */
export async function reserveWithResource(
  sql: Sql,
  intent: Intent,
  resource: Fragment,
): Promise<Reservation> {
  const [outcome] = await reserveEach(sql, [intent], resource)
  return await requireReserved(sql, intent, outcome)
}

/** What the statement found: a key, its refusal, or nothing that its snapshot can see. */
export type ReservationOutcome = Reservation | 'refused' | 'duplicate' | undefined

/** The key of the outcome. Reads again what a statement did not see. Throws like a reservation. */
export async function requireReserved(
  sql: Sql,
  intent: Intent,
  outcome: ReservationOutcome,
): Promise<Reservation> {
  if (outcome === 'refused') throw new IntentRefusedError('the intent was refused')
  if (outcome === 'duplicate') throw new DuplicateReferenceError('the reference is in use')
  return outcome ?? { key: await findReservedKey(sql, intent), resource: null }
}

/** The part `resource` of an intent statement that is refused unless its key is already used. */
export function noResource(sql: Sql): Fragment {
  return sql`resource as (select *, null::text as previous_status from reserved where false)`
}

/**
 * Reserves the keys and writes the intents: the resources (the CTEs of `resource`, which select from
 * `reserved`), their events, the first lines of their timelines and the jobs, in one statement and
 * so in one transaction. When a key is already used, nothing is written for it and its row is
 * returned: its id tells whether this reservation won. Repeating it after a lost acknowledgment is
 * safe. An intent whose customer belongs to another tenant is refused without effect on the others.
 *
 * @throws an error when `resource` creates or changes no row for one of several intents, or one with
 *   a reference that is in use, and when two are about one payment. Nothing is written.
 */
export async function reserveEach(
  sql: Sql,
  intents: readonly Intent[],
  resource: Fragment,
): Promise<ReservationOutcome[]> {
  // An update changes a row once, and both would find it changed.
  const payments = new Set(intents.map(({ paymentId }) => paymentId))
  if (payments.size < intents.length) throw new Error('two intents are about one payment')
  try {
    const rows = await insertIntents(sql, intents, resource)
    const names = new Map(intents.map((intent) => [intent.id, nameOf(intent)]))
    expectOwn(sql, rows, ({ asked_id, id, tenant_id: tenantId, key }) =>
      id === null ? names.has(asked_id) : names.get(asked_id) === nameOf({ tenantId, key }),
    )
    const found = new Map(rows.map((row) => [row.asked_id, outcomeOf(row)]))
    return intents.map(({ id }) => found.get(id))
  } catch (error) {
    if (intents.length > 1) throw error
    if (isRaised(error, INTENT_REFUSED)) return ['refused']
    if (isDuplicateReference(error)) return ['duplicate']
    throw error
  }
}

interface ReservedRow extends Omit<KeyRow, 'id'> {
  /** Null when the statement sees no row of the key. */
  id: string | null
  asked_id: string
  is_allowed: boolean
  resource: Reservation['resource']
}

function outcomeOf(row: ReservedRow): ReservationOutcome {
  const { id } = row
  if (id !== null) return { key: keyFromRow({ ...row, id }), resource: row.resource }
  return row.is_allowed ? undefined : 'refused'
}

async function insertIntents(
  sql: Sql,
  intents: readonly Intent[],
  resource: Fragment,
): Promise<ReservedRow[]> {
  const [first] = intents
  if (first === undefined) return []
  const kind = kindOf(first)
  // All processes lock in the same order, so that they do not deadlock.
  const asked = intents
    .toSorted((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1))
    .map(askedRow)
  const tombstone = selectTombstone(sql, sql`asked.tenant_id`, sql`asked.key`)
  const timely = mayBeFirst(sql, sql`asked.first_sent`, sql`asked.retention_seconds`, tombstone)
  // A reservation without a resource raises an error, which undoes all reservations. The call is in the
  // select list: in the WHERE it would have no columns of a row, and run first, also for a used key.
  return await sql<ReservedRow[]>`
    with asked as (
      select *, ${ownsCustomer(sql)} as is_allowed
      from jsonb_to_recordset(${JSON.stringify(asked)}::jsonb) as asked (
        tenant_id uuid, id uuid, key text, fingerprint bytea, fingerprint_version smallint,
        validated_fingerprint bytea, operation text, payment_id uuid, refund_id uuid,
        dispute_id uuid, parameters jsonb, retention_seconds float8, expired_keys text,
        details jsonb, first_sent timestamptz, shown_key text, traceparent text
      )
    ),
    reserved as (
      insert into idempotency_keys (
        tenant_id, id, key, fingerprint, fingerprint_version, validated_fingerprint, operation,
        payment_id, refund_id, dispute_id, parameters, job_id, expires_at, earlier
      )
      select
        tenant_id, id, key, fingerprint, fingerprint_version, validated_fingerprint, operation,
        payment_id, refund_id, dispute_id, parameters, gen_random_uuid(), now() + retention_seconds * interval '1 second',
        (${tombstone})
      from asked
      where is_allowed and (expired_keys = 'new' or not exists (${tombstone}))
        and ${timely}
      on conflict (tenant_id, key) do nothing
      returning *
    ),
    ${resource},
    ${insertEventsOfChanges(sql, { cte: 'resource', kind }, 'asked')},
    started as (${insertStarted(sql)}),
    job as (${enqueueAsked(sql)}),
    used as (
      select ${keyColumns(sql)}, true as is_new from reserved
      union all
      select existing.*, false from asked cross join lateral (
        -- The limit makes Postgres look up each key by its index, however few keys there were when
        -- the plan was made.
        select ${keyColumns(sql)} from idempotency_keys
        where ${isOfTenant(sql, sql`idempotency_keys`, sql`asked.tenant_id`)}
          and idempotency_keys.key = asked.key
        limit 1
      ) as existing
      where not exists (
        select from reserved
        where reserved.tenant_id = asked.tenant_id and reserved.key = asked.key
      )
    )
    select
      asked.id as asked_id, asked.is_allowed, used.*, to_jsonb(resource) as resource,
      case when used.is_new and used.id = asked.id and resource.id is null
        then raise_intent_refused() end as refusal
    from asked
    left join used on used.tenant_id = asked.tenant_id and used.key = asked.key
    left join resource on used.id = asked.id and resource.tenant_id = asked.tenant_id
      and resource.id = asked.${sql(`${kind}_id`)}
    where ${seesTenants(sql, intents)}
  `
}

/** Whether the tenant may charge the customer, if the intent names one. */
const ownsCustomer = (sql: Sql): Fragment => sql`(
  asked.details ->> 'customer' is null or exists (
    select from provider_customers as owned
    where owned.tenant_id = asked.tenant_id
      and owned.provider = asked.details ->> 'provider' and owned.id = asked.details ->> 'customer'
  )
)`

/** All intents of a statement are about the same kind. */
function kindOf({ refundId, disputeId }: Intent): ResourceKind {
  if (disputeId !== undefined && disputeId !== null) return 'dispute'
  return refundId === null ? 'payment' : 'refund'
}
