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
import type { Transaction } from '../connection/client.ts'
import { clientSecret } from '../encryption/encrypted-values.ts'
import { eventsOfChange, writeEvents, type NewEvent } from '../events/write-events.ts'
import { paymentFromRow, type PaymentRow } from './payments.ts'
import { StaleResourceError } from './stale-resource.ts'

/**
 * Changes a payment that is still in the status it was read with, and writes the event.
 *
 * @throws StaleResourceError when it is in another status.
 */
export async function changePayment(
  tx: Transaction,
  payment: Payment,
  change: PaymentChange,
  idempotencyKey: string,
): Promise<Payment> {
  const changed = paymentAfter(payment, change)
  await writeEvents(tx, payment.tenantId, await updatePayment(tx, changed, idempotencyKey))
  return changed
}

/**
 * Changes a payment that is still in its previous status. Returns the event of the change, which the
 * caller has to write.
 *
 * @throws StaleResourceError when it is in another status. The transaction has to be rolled back.
 */
export async function updatePayment(
  tx: Transaction,
  payment: ChangedPayment,
  idempotencyKey: string,
): Promise<NewEvent[]> {
  const { tenantId, id, previousStatus } = payment
  const { status, failure, captureBefore, provider, ...others } = changedValues(payment)
  const isHeld = status === 'requires_capture' && captureBefore !== null
  const [changed] = await tx<PaymentRow[]>`
    update payments set
      status = ${status},
      previous_status = status,
      failure_code = ${failure?.code ?? null},
      failure_decline_code = ${failure?.declineCode ?? null},
      failure_message = ${failure?.message ?? null},
      cancellation_reason = ${others.cancellationReason},
      capture_before = ${captureBefore},
      -- A hold that begins, or whose end moves, has to be announced before its end.
      expiry_step = case
        when ${isHeld}
          and (expiry_step is null or capture_before is distinct from ${captureBefore}::timestamptz)
        then 'announce'
        else expiry_step
      end,
      provider_payment_id = coalesce(${others.providerPaymentId}, provider_payment_id),
      client_secret = coalesce(${others.clientSecret}, client_secret),
      amount_minor = ${others.amountMinor},
      amount_captured_minor = greatest(${others.amountCapturedMinor}::bigint, amount_captured_minor),
      -- An erased payment method stays erased.
      payment_method = case when provider = ${provider}
        then payment_method else ${others.paymentMethod} end,
      provider = ${provider},
      updated_at = now()
    where tenant_id = ${tenantId} and id = ${id} and status = ${previousStatus}
    returning *
  `
  if (changed === undefined) throw new StaleResourceError(`payment ${id}`, previousStatus)
  return eventsOfChange('payment', changed, idempotencyKey)
}

/** Each member that a change can have, as its column takes it: what an answer says, the row says too. */
const changedValues = (payment: ChangedPayment) =>
  ({
    status: payment.status,
    failure: payment.failure,
    cancellationReason: payment.cancellationReason,
    captureBefore: payment.captureBefore?.toISOString() ?? null,
    providerPaymentId: payment.providerPaymentId,
    clientSecret: clientSecret.encrypt(payment, payment.clientSecret),
    amountMinor: payment.amountMinor,
    amountCapturedMinor: payment.amountCapturedMinor,
    provider: payment.provider,
    paymentMethod: payment.paymentMethod,
  }) satisfies Record<keyof PaymentChange, unknown>

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
  const { tenantId, id } = payment
  const [waited] = await tx<{ status: PaymentStatus }[]>`
    select object ->> 'status' as status from events
    where tenant_id = ${tenantId} and payment_id = ${id}
      and type = any(${waitingStatuses.map((status) => `payment.${status}`)}::text[])
    order by id desc
    limit 1
  `
  const [row] = await tx<PaymentRow[]>`
    update payments set
      status = 'processing', previous_status = ${waited?.status ?? 'unknown'}, updated_at = now()
    where tenant_id = ${tenantId} and id = ${id} and status = 'unknown'
    returning *
  `
  if (row === undefined) throw new StaleResourceError(`payment ${id}`, 'unknown')
  await writeEvents(tx, tenantId, eventsOfChange('payment', row, idempotencyKey))
  return paymentFromRow(row)
}
