// The statements by which workers take and leave operations: claim, renew, give back, hand over. Every
// write is guarded by lease epoch and recovery point, and every lease runs on the database's clock.
import type { OperationRef, OperationStatus } from '../../domain/operations/operation.ts'
import type { FeeSchedule } from '../../domain/ledger/ledger.ts'
import type { Payment } from '../../domain/payments/payment.ts'
import type { Refund } from '../../domain/payments/refund.ts'
import type { Fragment, Sql, Transaction } from '../connection/client.ts'
import { isOwner, type Fence } from './fence.ts'
import { enqueueReserved } from '../queue/jobs.ts'
import { paymentFromRow, type PaymentRow } from '../payments/payments.ts'
import { refundFromRow, type RefundRow } from '../payments/refunds.ts'
import { seesTenant, seesTenants } from '../connection/row-security.ts'

/** What an operation is about: everything of its row, and of the resources that the row names. */
export interface OperationRow extends OperationRef {
  readonly operation: string
  readonly key: string
  readonly parameters: Readonly<Record<string, unknown>>
  readonly paymentId: string
  readonly recoveryPoint: string
  readonly leaseEpoch: number
  /** How many times it was claimed. */
  readonly attempt: number
  /** The current phase's foreign call may have run already, under an owner that died or gave up. */
  readonly inDoubt: boolean
  /** Since when the current phase's foreign call can have been made, in milliseconds. */
  readonly phaseAgeMs: number
  readonly payment: Payment
  readonly refund: Refund | null
  /** What the tenant pays for captures. */
  readonly fees: FeeSchedule
}

/** A worker's hold on an operation: what it needs to go on, and the epoch that fences it. */
export type Claim = OperationRow

/** A row of `selectOperation`. */
export interface JoinedRow {
  tenant_id: string
  id: string
  operation: string
  key: string
  parameters: Record<string, unknown>
  payment_id: string
  recovery_point: string
  lease_epoch: number
  attempts: number
  in_doubt: boolean
  phase_age_ms: number
  payment: PaymentRow
  refund: RefundRow | null
  fee_basis_points: number
  fee_fixed_minor: string
}

/**
 * A query for the operations in `operation`, a table or a CTE, with what each is about.
 *
 * @param columns more columns of the operation's row.
 */
export function selectOperation(
  sql: Sql | Transaction,
  operation: Fragment,
  columns = sql`operation.tenant_id`,
): Fragment {
  return sql`
    select
      ${columns},
      operation.id, operation.operation, operation.key, operation.parameters,
      operation.payment_id, operation.recovery_point, operation.lease_epoch, operation.attempts,
      operation.in_doubt,
      (extract(epoch from now() - operation.phase_began_at) * 1000)::float8 as phase_age_ms,
      to_jsonb(payments) as payment, to_jsonb(refunds) as refund,
      tenants.fee_basis_points, tenants.fee_fixed_minor
    from ${operation} as operation
    join tenants on tenants.id = operation.tenant_id
    join payments
      on payments.tenant_id = operation.tenant_id and payments.id = operation.payment_id
    left join refunds
      on refunds.tenant_id = operation.tenant_id and refunds.id = operation.refund_id
  `
}

export function operationFromRow(row: JoinedRow): OperationRow {
  return {
    tenantId: row.tenant_id,
    id: row.id,
    operation: row.operation,
    key: row.key,
    parameters: row.parameters,
    paymentId: row.payment_id,
    recoveryPoint: row.recovery_point,
    leaseEpoch: row.lease_epoch,
    attempt: row.attempts,
    inDoubt: row.in_doubt,
    phaseAgeMs: row.phase_age_ms,
    payment: paymentFromRow(row.payment),
    refund: row.refund && refundFromRow(row.refund),
    fees: { basisPoints: row.fee_basis_points, fixedMinor: Number(row.fee_fixed_minor) },
  }
}

/** Who asks for which operation, and for how long. */
export interface LeaseRequest {
  readonly ref: OperationRef
  readonly leaseMs: number
}

/**
 * Takes each operation that waits, or whose owner let its lease run out, and starts a new lease epoch,
 * after which no write of an earlier owner succeeds. Undefined for one that is not to be had; of those who
 * ask for the same one, the first has it. Taking over from an owner that went silent leaves the current
 * foreign call in doubt.
 */
export async function claimEachIfUnowned(
  sql: Sql,
  wanted: readonly LeaseRequest[],
): Promise<(Claim | undefined)[]> {
  // In one order for all workers, so that two of them do not wait for each other.
  const inOrder = wanted.toSorted((one, other) => (one.ref.id < other.ref.id ? -1 : 1))
  const rows = await sql<JoinedRow[]>`
    with wanted as (
      -- Selected, because a plan for how many they are this time would be made each time.
      select * from unnest(
        (select ${inOrder.map(({ ref }) => ref.tenantId)}::uuid[]),
        (select ${inOrder.map(({ ref }) => ref.id)}::uuid[]),
        (select ${inOrder.map(({ leaseMs }) => leaseMs)}::float8[])
      ) as wanted (tenant_id, id, lease_ms)
    ),
    claimed as (
      update idempotency_keys as key set
        status = 'processing',
        lease_epoch = lease_epoch + 1,
        lease_expires_at = now() + lease_ms * interval '1 millisecond',
        attempts = attempts + 1,
        in_doubt = in_doubt or status = 'processing',
        phase_began_at = coalesce(phase_began_at, now()),
        -- Whoever claims may call again, so that what was unknown is so no sooner than after that.
        unknown_at = null,
        evidence = null
      from wanted
      where key.tenant_id = wanted.tenant_id and key.id = wanted.id
        -- In a form that no partial index answers: a plan made while little was unfinished would go through
        -- all of it when there is much.
        and coalesce(status = 'pending' or (status = 'processing' and lease_expires_at < now()), false)
      returning key.*
    )
    ${selectOperation(sql, sql`claimed`)}
    where ${seesTenants(
      sql,
      inOrder.map(({ ref }) => ref),
    )}
  `
  const claims = new Map(rows.map(operationFromRow).map((claim) => [nameOf(claim), claim]))
  return wanted.map(({ ref }) => {
    const claim = claims.get(nameOf(ref))
    claims.delete(nameOf(ref))
    return claim
  })
}

const nameOf = ({ tenantId, id }: OperationRef): string => `${tenantId} ${id}`

/** The operation as it stands, for whoever acts on it without a lease. */
export async function readOperation(
  tx: Transaction,
  ref: OperationRef,
): Promise<OperationRow | undefined> {
  const [row] = await tx<JoinedRow[]>`
    ${selectOperation(tx, tx`idempotency_keys`)}
    where ${seesTenant(tx, ref.tenantId)}
      and operation.tenant_id = ${ref.tenantId} and operation.id = ${ref.id}
  `
  return row && operationFromRow(row)
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
    where ${seesTenant(sql, ref.tenantId)} and tenant_id = ${ref.tenantId} and id = ${ref.id}
  `
  return row
}

/** When an unknown outcome is looked up next, by a schedule in seconds since it became unknown. */
export function nextCheckAt(sql: Sql | Transaction, delaysSeconds: readonly number[]): Fragment {
  return sql`(
    select min(coalesce(unknown_at, now()) + delay * interval '1 second')
    from unnest(${[...delaysSeconds]}::float8[]) as delay
    where coalesce(unknown_at, now()) + delay * interval '1 second' > now()
  )`
}

/** Renews the lease before a foreign call that the rest of it would not outlast. */
export async function renewIfOwner(sql: Sql, hold: Fence, leaseMs: number): Promise<boolean> {
  const { count } = await sql`
    update idempotency_keys
    set lease_expires_at = now() + ${leaseMs} * interval '1 millisecond'
    where ${seesTenant(sql, hold.tenantId)} and ${isOwner(sql, hold)}
  `
  return count === 1
}

/**
 * Gives the operation back without a step forward: to the next try (`pending`), to its client's next
 * retry (`failed_retryable`, proved that nothing happened) or to the reconciler (`unknown`).
 *
 * @param to.checkDelaysSeconds the reconciler's schedule, if it is the reconciler's.
 */
export async function giveBackIfOwner(
  tx: Transaction,
  hold: Fence,
  to: {
    status: 'pending' | 'failed_retryable' | 'unknown'
    inDoubt: boolean
    reason: string
    checkDelaysSeconds: readonly number[]
  },
): Promise<boolean> {
  const { count } = await tx`
    update idempotency_keys set
      status = ${to.status},
      unknown_at = case ${to.status}
        when 'unknown' then coalesce(unknown_at, now())
        when 'pending' then unknown_at end,
      evidence = case when ${to.status} <> 'failed_retryable' then evidence end,
      next_check_at = case when ${to.status} = 'unknown'
        then ${nextCheckAt(tx, to.checkDelaysSeconds)} end,
      lease_expires_at = null,
      in_doubt = ${to.inDoubt},
      phase_began_at = case when ${to.inDoubt} then phase_began_at end,
      last_error = ${to.reason}
    where ${seesTenant(tx, hold.tenantId)} and ${isOwner(tx, hold)}
  `
  return count === 1
}

/**
 * Gives the operation to whichever worker is next, with a new job, because this one stops. Nothing was
 * tried in vain, so that the job waits for no backoff. False when the hold is lost.
 */
export async function handOverIfOwner(
  tx: Transaction,
  hold: Fence,
  inDoubt: boolean,
  traceparent?: string,
): Promise<boolean> {
  const rows = await tx`
    with reserved as (
      update idempotency_keys set
        status = 'pending',
        lease_expires_at = null,
        job_id = gen_random_uuid(),
        in_doubt = ${inDoubt},
        phase_began_at = case when ${inDoubt} then phase_began_at end,
        last_error = 'its worker was stopped'
      where ${isOwner(tx, hold)}
      returning *
    ),
    job as (${enqueueReserved(tx, traceparent)})
    select from reserved where ${seesTenant(tx, hold.tenantId)}
  `
  return rows.length === 1
}
