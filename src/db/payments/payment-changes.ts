// Changes payments, with their events. Each update names the status that it leaves, and a CHECK
// refuses transitions that the domain does not list.
import {
  paymentAfter,
  withStatus,
  type ChangedPayment,
  type Payment,
  type PaymentChange,
} from '../../domain/payments/payment.ts'
import { waitingStatuses, type PaymentStatus } from '../../domain/payments/payment-status.ts'
import type { Fragment, Sql, Transaction } from '../connection/client.ts'
import { clientSecret } from '../encryption/encrypted-values.ts'
import { insertEventOfChange } from '../events/event-records.ts'
import { withoutFence } from '../operations/fence.ts'
import { seesTenant } from '../connection/row-security.ts'
import { paymentFromRow, type PaymentRow } from './payments.ts'

/**
 * Changes a payment that is still in the status it was read with, and inserts the event.
 *
 * @throws StaleResourceError when it is in another status; nothing is written.
 */
export async function changePayment(
  tx: Transaction,
  payment: Payment,
  change: PaymentChange,
  idempotencyKey: string,
): Promise<Payment> {
  const changed = paymentAfter(payment, change)
  const { count } = await tx`
    with ${withoutFence(tx)},
    ${changePaymentIfOwner(tx, changed, idempotencyKey)}
    select from changed where ${seesTenant(tx, payment.tenantId)}
  `
  if (count === 0) throw new StaleResourceError(`payment ${payment.id}`, payment.status)
  return changed
}

/**
 * The part `changed` of a statement, followed by the parts of its event: changes the payment if the
 * CTE `fenced` is not empty and the payment is still in its previous status. When the status stays
 * the same there is no event, and the parts of the event are left out because they cost time.
 */
export function changePaymentIfOwner(
  sql: Sql | Transaction,
  payment: ChangedPayment,
  idempotencyKey: string,
): Fragment {
  const event = insertEventOfChange(sql, { cte: 'changed', kind: 'payment' }, idempotencyKey)
  const columns = Object.values(changedColumns(sql, payment))
  return sql`
    changed as (
      update payments set
        ${columns.map((column) => sql`${column}, `)}
        previous_status = payments.status,
        updated_at = now()
      from fenced
      where payments.tenant_id = ${payment.tenantId} and payments.id = ${payment.id}
        and payments.status = ${payment.previousStatus}
      returning payments.*
    )
    ${payment.status === payment.previousStatus ? sql`` : sql`, ${event}`}
  `
}

/** The columns of each member that a change can have: what an answer says, the row says too. */
function changedColumns(
  sql: Sql | Transaction,
  { status, failure, ...payment }: ChangedPayment,
): Record<keyof PaymentChange, Fragment> {
  return {
    status: sql`status = ${status}`,
    failure: sql`
        failure_code = ${failure?.code ?? null},
        failure_decline_code = ${failure?.declineCode ?? null},
        failure_message = ${failure?.message ?? null}`,
    cancellationReason: sql`cancellation_reason = ${payment.cancellationReason}`,
    captureBefore: captureBeforeColumns(sql, status, payment.captureBefore),
    providerPaymentId: sql`
        provider_payment_id = coalesce(${payment.providerPaymentId}, provider_payment_id)`,
    clientSecret: sql`
        client_secret = coalesce(${clientSecret.encrypt(payment, payment.clientSecret)}, client_secret)`,
    amountMinor: sql`amount_minor = ${payment.amountMinor}`,
    amountCapturedMinor: sql`
        amount_captured_minor = greatest(${payment.amountCapturedMinor}, amount_captured_minor)`,
  }
}

/** A hold that begins, or whose end moves, has to be announced before its end. */
function captureBeforeColumns(
  sql: Sql | Transaction,
  status: PaymentStatus,
  captureBefore: Date | null,
): Fragment {
  const end = sql`${captureBefore?.toISOString() ?? null}::timestamptz`
  if (status !== 'requires_capture' || captureBefore === null) return sql`capture_before = ${end}`
  return sql`
        capture_before = ${end},
        expiry_step = case
          when expiry_step is null or capture_before is distinct from ${end} then 'announce'
          else expiry_step
        end`
}

/**
 * Marks a payment as processing for a reopened operation, if it is in one of the statuses in which
 * the operation first found it.
 *
 * @throws StaleResourceError when it is not: another operation has changed it.
 */
export async function markProcessingAgain(
  tx: Transaction,
  payment: Payment,
  statuses: readonly PaymentStatus[],
  idempotencyKey: string,
): Promise<Payment> {
  if (!statuses.includes(payment.status)) {
    throw new StaleResourceError(`payment ${payment.id}`, statuses.join(' or '))
  }
  return await changePayment(tx, payment, withStatus(payment, 'processing'), idempotencyKey)
}

/**
 * Marks an unknown payment as processing. The last waiting status becomes its previous status
 * again, so that it can go back there. A new payment never had one.
 *
 * @throws StaleResourceError when the payment is not unknown any more.
 */
export async function resumePayment(
  tx: Transaction,
  payment: Payment,
  idempotencyKey: string,
): Promise<Payment> {
  const [row] = await tx<{ payment: PaymentRow }[]>`
    with waited as (
      select object ->> 'status' as status from events
      where tenant_id = ${payment.tenantId} and payment_id = ${payment.id}
        and type = any(${waitingStatuses.map((status) => `payment.${status}`)}::text[])
      order by id desc
      limit 1
    ),
    changed as (
      update payments set
        status = 'processing',
        previous_status = coalesce((select status from waited), payments.status),
        updated_at = now()
      where tenant_id = ${payment.tenantId} and id = ${payment.id} and status = 'unknown'
      returning *
    ),
    ${insertEventOfChange(tx, { cte: 'changed', kind: 'payment' }, idempotencyKey)}
    select to_jsonb(changed) as payment from changed where ${seesTenant(tx, payment.tenantId)}
  `
  if (row === undefined) throw new StaleResourceError(`payment ${payment.id}`, 'unknown')
  return paymentFromRow(row.payment)
}

/** A resource has left the status that it was read with: another process changed it. */
export class StaleResourceError extends Error {
  override name = 'StaleResourceError'

  constructor(resource: string, status: string) {
    super(`${resource} is not ${status} any more`)
  }
}
