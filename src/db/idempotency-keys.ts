// The statements on idempotency keys: reserve, claim, advance, finish, give back, reopen. Every write
// of a worker is guarded by lease epoch and recovery point, and every lease runs on the database's clock.
import type { OperationRef, OperationStatus, StoredResponse } from '../domain/operation.ts'
import type { Payment } from '../domain/payment.ts'
import type { Fragment, Sql, Transaction } from './client.ts'
import { enqueueReserved } from './jobs.ts'
import { paymentFromRow, type PaymentRow } from './payments.ts'
import { insertStarted } from './phase-runs.ts'

/** What a client's request asks to be done once. */
export interface Reservation extends OperationRef {
  readonly key: string
  readonly fingerprint: Buffer
  readonly operation: string
  readonly paymentId: string
  readonly retentionSeconds: number
}

/** An idempotency key as its client may see it. */
export interface IdempotencyKey extends OperationRef {
  readonly key: string
  readonly fingerprint: Buffer
  readonly operation: string
  readonly paymentId: string
  readonly status: OperationStatus
  readonly recoveryPoint: string
  readonly attempts: number
  readonly createdAt: Date
  readonly expiresAt: Date
  readonly response: StoredResponse | null
}

interface KeyRow {
  tenant_id: string
  id: string
  key: string
  fingerprint: Buffer
  operation: string
  payment_id: string
  status: OperationStatus
  recovery_point: string
  attempts: number
  created_at: string
  expires_at: string
  response_status: number | null
  response_headers: Record<string, string> | null
  response_body: string | null
}

function keyFromRow(row: KeyRow): IdempotencyKey {
  const { response_status: status, response_headers: headers, response_body: body } = row
  return {
    tenantId: row.tenant_id,
    id: row.id,
    key: row.key,
    fingerprint: row.fingerprint,
    operation: row.operation,
    paymentId: row.payment_id,
    status: row.status,
    recoveryPoint: row.recovery_point,
    attempts: row.attempts,
    createdAt: new Date(row.created_at),
    expiresAt: new Date(row.expires_at),
    response:
      status === null || headers === null || body === null ? null : { status, headers, body },
  }
}

const keyColumns = (sql: Sql) => sql`
  tenant_id, id, key, fingerprint, operation, payment_id, status, recovery_point, attempts,
  created_at, expires_at, response_status, response_headers, response_body
`

/**
 * Reserves the key and writes the intent: the resource (`insertResource`, which selects from
 * `reserved`), the start of its timeline and the job, in one statement and so in one transaction.
 * When the key is taken, nothing is written and the row that holds it is returned; whether the
 * reservation won is told by the id. Running it again after a lost acknowledgment is safe.
 */
export async function reserveIntent(
  sql: Sql,
  reservation: Reservation,
  insertResource: Fragment,
): Promise<IdempotencyKey> {
  const { tenantId, key } = reservation
  const [row] = await sql<KeyRow[]>`
    with reserved as (
      insert into idempotency_keys (
        tenant_id, id, key, fingerprint, operation, payment_id, expires_at
      )
      values (
        ${tenantId}, ${reservation.id}, ${key}, ${reservation.fingerprint},
        ${reservation.operation}, ${reservation.paymentId},
        now() + ${reservation.retentionSeconds} * interval '1 second'
      )
      on conflict (tenant_id, key) do nothing
      returning *
    ),
    resource as (${insertResource}),
    started as (${insertStarted(sql)}),
    job as (${enqueueReserved(sql)})
    select ${keyColumns(sql)} from reserved
    union all
    select ${keyColumns(sql)} from idempotency_keys
    where tenant_id = ${tenantId} and key = ${key} and not exists (select from reserved)
  `
  if (row !== undefined) return keyFromRow(row)
  // A rival's reservation committed after this statement's snapshot was taken: it is visible now.
  const rival = await findIdempotencyKey(sql, tenantId, key)
  if (rival === undefined) throw new Error('a key was taken and is gone; reserve it again')
  return rival
}

export async function findIdempotencyKey(
  sql: Sql,
  tenantId: string,
  key: string,
): Promise<IdempotencyKey | undefined> {
  const [row] = await sql<KeyRow[]>`
    select ${keyColumns(sql)} from idempotency_keys
    where tenant_id = ${tenantId} and key = ${key}
  `
  return row && keyFromRow(row)
}

/** Of the given operations, those that nobody works on any more: finished, failed or unknown. */
export async function findSettled(sql: Sql, refs: readonly OperationRef[]): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    select id from idempotency_keys
    where (tenant_id, id) in (
      select * from unnest(
        ${refs.map((ref) => ref.tenantId)}::uuid[], ${refs.map((ref) => ref.id)}::uuid[]
      )
    )
    and status not in ('pending', 'processing')
  `
  return rows.map((row) => row.id)
}

/** A worker's hold on an operation: what it needs to go on, and the epoch that fences it. */
export interface Claim extends OperationRef {
  readonly operation: string
  readonly paymentId: string
  readonly recoveryPoint: string
  readonly leaseEpoch: number
  readonly attempt: number
  /** The current phase's foreign call may have run already, under an owner that died or gave up. */
  readonly inDoubt: boolean
  /** Since when the current phase's foreign call can have been made, in milliseconds. */
  readonly phaseAgeMs: number
  readonly payment: Payment
}

interface ClaimRow {
  tenant_id: string
  id: string
  operation: string
  payment_id: string
  recovery_point: string
  lease_epoch: number
  attempts: number
  in_doubt: boolean
  phase_age_ms: number
  payment: PaymentRow
}

/**
 * Takes an operation that waits, or whose owner let its lease run out, and starts a new lease epoch,
 * after which no write of an earlier owner succeeds. Returns undefined when it is not to be had.
 * Taking over from an owner that went silent leaves the current foreign call in doubt.
 */
export async function claimIfUnowned(
  sql: Sql,
  ref: OperationRef,
  leaseMs: number,
): Promise<Claim | undefined> {
  const [row] = await sql<ClaimRow[]>`
    with claimed as (
      update idempotency_keys set
        status = 'processing',
        lease_epoch = lease_epoch + 1,
        lease_expires_at = now() + ${leaseMs} * interval '1 millisecond',
        attempts = attempts + 1,
        in_doubt = in_doubt or status = 'processing',
        phase_began_at = coalesce(phase_began_at, now())
      where tenant_id = ${ref.tenantId} and id = ${ref.id}
        and (status = 'pending' or (status = 'processing' and lease_expires_at < now()))
      returning *
    )
    select
      claimed.tenant_id, claimed.id, claimed.operation, claimed.payment_id,
      claimed.recovery_point, claimed.lease_epoch, claimed.attempts, claimed.in_doubt,
      (extract(epoch from now() - claimed.phase_began_at) * 1000)::float8 as phase_age_ms,
      to_jsonb(payments) as payment
    from claimed
    join payments on payments.tenant_id = claimed.tenant_id and payments.id = claimed.payment_id
  `
  if (row === undefined) return undefined
  return {
    tenantId: row.tenant_id,
    id: row.id,
    operation: row.operation,
    paymentId: row.payment_id,
    recoveryPoint: row.recovery_point,
    leaseEpoch: row.lease_epoch,
    attempt: row.attempts,
    inDoubt: row.in_doubt,
    phaseAgeMs: row.phase_age_ms,
    payment: paymentFromRow(row.payment),
  }
}

/** Where an operation stands: who may act on it, and who acted last. */
export interface OperationState {
  readonly status: OperationStatus
  readonly recoveryPoint: string
  readonly leaseEpoch: number
}

export async function readOperationState(
  sql: Sql,
  ref: OperationRef,
): Promise<OperationState | undefined> {
  const [row] = await sql<OperationState[]>`
    select status, recovery_point as "recoveryPoint", lease_epoch as "leaseEpoch"
    from idempotency_keys
    where tenant_id = ${ref.tenantId} and id = ${ref.id}
  `
  return row
}

/** The guard of every write: this lease, and no step taken since. */
type Hold = Pick<Claim, 'tenantId' | 'id' | 'recoveryPoint' | 'leaseEpoch'>

const held = (sql: Sql | Transaction, hold: Hold) => sql`
  tenant_id = ${hold.tenantId} and id = ${hold.id}
  and recovery_point = ${hold.recoveryPoint} and lease_epoch = ${hold.leaseEpoch}
  and status = 'processing'
`

/** Moves to the next recovery point and renews the lease. False when the hold is lost. */
export async function advanceIfHeld(
  tx: Transaction,
  hold: Hold,
  to: string,
  leaseMs: number,
): Promise<boolean> {
  const { count } = await tx`
    update idempotency_keys set
      recovery_point = ${to},
      lease_expires_at = now() + ${leaseMs} * interval '1 millisecond',
      in_doubt = false,
      phase_began_at = now(),
      last_error = null
    where ${held(tx, hold)}
  `
  return count === 1
}

/** Stores the response and ends the operation; the retention of its key starts anew. */
export async function finishIfHeld(
  tx: Transaction,
  hold: Hold,
  response: StoredResponse,
  retentionSeconds: number,
): Promise<boolean> {
  const { count } = await tx`
    update idempotency_keys set
      status = 'completed',
      recovery_point = 'finished',
      lease_expires_at = null,
      in_doubt = false,
      last_error = null,
      response_status = ${response.status},
      response_headers = ${JSON.stringify(response.headers)}::jsonb,
      response_body = ${response.body},
      finished_at = now(),
      expires_at = now() + ${retentionSeconds} * interval '1 second'
    where ${held(tx, hold)}
  `
  return count === 1
}

/** Renews the lease before a foreign call that the rest of it would not outlast. */
export async function renewIfHeld(sql: Sql, hold: Hold, leaseMs: number): Promise<boolean> {
  const { count } = await sql`
    update idempotency_keys
    set lease_expires_at = now() + ${leaseMs} * interval '1 millisecond'
    where ${held(sql, hold)}
  `
  return count === 1
}

/**
 * Gives the operation back without a step forward: to the next try (`pending`), to its client's next
 * retry (`failed_retryable`, proved that nothing happened) or to the reconciler (`unknown`).
 */
export async function giveBackIfHeld(
  tx: Transaction,
  hold: Hold,
  to: { status: 'pending' | 'failed_retryable' | 'unknown'; inDoubt: boolean; reason: string },
): Promise<boolean> {
  const { count } = await tx`
    update idempotency_keys set
      status = ${to.status},
      lease_expires_at = null,
      in_doubt = ${to.inDoubt},
      phase_began_at = case when ${to.inDoubt} then phase_began_at end,
      last_error = ${to.reason}
    where ${held(tx, hold)}
  `
  return count === 1
}

/**
 * Puts an operation that is proved to have done nothing back to work, for its client's retry. Of
 * several retries at once, one wins; the others get false.
 */
export async function reopenIfFailed(tx: Transaction, ref: OperationRef): Promise<boolean> {
  const { count } = await tx`
    with reserved as (
      update idempotency_keys set status = 'pending', last_error = null
      where tenant_id = ${ref.tenantId} and id = ${ref.id} and status = 'failed_retryable'
      returning *
    )
    ${enqueueReserved(tx)}
  `
  return count === 1
}
