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
import { columnsOfChange, insertEventsOfChanges } from '../events/event-records.ts'
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
    with ${withoutFence(tx, payment.id, columnsOfChange(tx, 'payment', payment, idempotencyKey))},
    ${changePaymentsIfOwner(tx, [{ ownerId: payment.id, payment: changed }])}
    select from changed where ${seesTenant(tx, payment.tenantId)}
  `
  if (count === 0) throw new StaleResourceError(`payment ${payment.id}`, payment.status)
  return changed
}

/**
 * The part `changed` of a statement, followed by the parts of its events: changes the payment of
 * each owner that is in the CTE `fenced`, if the payment is still in its previous status. The
 * payments differ. When all statuses stay the same there is no event, and the parts of the events
 * are left out because they cost time.
 */
export function changePaymentsIfOwner(
  sql: Sql | Transaction,
  changes: readonly { readonly ownerId: string; readonly payment: ChangedPayment }[],
): Fragment {
  const rows = changes.map(({ ownerId, payment }) => ({
    owner_id: ownerId,
    tenant_id: payment.tenantId,
    id: payment.id,
    previous_status: payment.previousStatus,
    ...changedColumns(payment),
  }))
  const hasEvents = changes.some(({ payment }) => payment.status !== payment.previousStatus)
  const events = insertEventsOfChanges(sql, { cte: 'changed', kind: 'payment' }, 'fenced')
  return sql`
    changed as (
      update payments set
        status = change.status,
        previous_status = payments.status,
        failure_code = change.failure_code,
        failure_decline_code = change.failure_decline_code,
        failure_message = change.failure_message,
        cancellation_reason = change.cancellation_reason,
        capture_before = change.capture_before,
        -- A hold that begins, or whose end moves, has to be announced before its end.
        expiry_step = case
          when change.status = 'requires_capture' and change.capture_before is not null
            and (expiry_step is null or payments.capture_before is distinct from change.capture_before)
          then 'announce'
          else expiry_step
        end,
        provider_payment_id = coalesce(change.provider_payment_id, payments.provider_payment_id),
        client_secret = coalesce(change.client_secret, payments.client_secret),
        amount_minor = change.amount_minor,
        amount_captured_minor = greatest(change.amount_captured_minor, payments.amount_captured_minor),
        -- An erased payment method stays erased.
        payment_method = case when change.provider = payments.provider
          then payments.payment_method else change.payment_method end,
        provider = change.provider,
        updated_at = now()
      from fenced
      join jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as change (
        owner_id uuid, tenant_id uuid, id uuid, previous_status text, status text,
        failure_code text, failure_decline_code text, failure_message text,
        cancellation_reason text, capture_before timestamptz, provider_payment_id text,
        client_secret text, amount_minor bigint, amount_captured_minor bigint, provider text,
        payment_method text
      ) on change.owner_id = fenced.id
      where payments.tenant_id = change.tenant_id and payments.id = change.id
        and payments.status = change.previous_status
      returning payments.*
    )
    ${hasEvents ? sql`, ${events}` : sql``}
  `
}

/** The columns of each member that a change can have: what an answer says, the row says too. */
function changedColumns(payment: ChangedPayment): Record<string, unknown> {
  const { status, failure, captureBefore } = payment
  const columns: Record<keyof PaymentChange, Record<string, unknown>> = {
    status: { status },
    failure: {
      failure_code: failure?.code ?? null,
      failure_decline_code: failure?.declineCode ?? null,
      failure_message: failure?.message ?? null,
    },
    cancellationReason: { cancellation_reason: payment.cancellationReason },
    captureBefore: { capture_before: captureBefore?.toISOString() ?? null },
    providerPaymentId: { provider_payment_id: payment.providerPaymentId },
    clientSecret: { client_secret: clientSecret.encrypt(payment, payment.clientSecret) },
    amountMinor: { amount_minor: payment.amountMinor },
    amountCapturedMinor: { amount_captured_minor: payment.amountCapturedMinor },
    provider: { provider: payment.provider },
    paymentMethod: { payment_method: payment.paymentMethod },
  }
  return Object.assign({}, ...Object.values(columns)) as Record<string, unknown>
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
    with ${withoutFence(tx, payment.id, columnsOfChange(tx, 'payment', payment, idempotencyKey))},
    waited as (
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
    ${insertEventsOfChanges(tx, { cte: 'changed', kind: 'payment' }, 'fenced')}
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
