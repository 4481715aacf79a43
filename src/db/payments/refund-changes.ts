// Changes refunds, with their events, and the amounts that they reserve and take from their payment.
import {
  refundAfter,
  type ChangedRefund,
  type Refund,
  type RefundChange,
  type RefundStatus,
} from '../../domain/payments/refund.ts'
import { waitingRefundStatuses } from '../../domain/payments/refund-standing.ts'
import type { Transaction } from '../connection/client.ts'
import { eventsOfChange, writeEvents, type NewEvent } from '../events/write-events.ts'
import type { RefundRow } from './refunds.ts'
import { StaleResourceError } from './stale-resource.ts'

/**
 * Changes a refund that is still in the status it was read with, adjusts the amounts of its
 * payment, and writes the event.
 *
 * @throws StaleResourceError when it is in another status, or when a resumed refund cannot reserve
 *   its amount again because too little is left. The transaction has to be rolled back.
 */
export async function changeRefund(
  tx: Transaction,
  refund: Refund,
  change: RefundChange,
  idempotencyKey: string,
): Promise<Refund> {
  const changed = refundAfter(refund, change)
  await writeEvents(tx, refund.tenantId, await updateRefund(tx, changed, idempotencyKey))
  return changed
}

/**
 * Changes a refund that is still in its previous status, and the amounts of its payment. The refund is
 * locked first, because an event can change it at the same time. Returns the event of the change, which
 * the caller has to write.
 *
 * @throws StaleResourceError like `changeRefund`.
 */
export async function updateRefund(
  tx: Transaction,
  refund: ChangedRefund,
  idempotencyKey: string,
): Promise<NewEvent[]> {
  const { tenantId, id, paymentId, status, previousStatus, failure, amountMinor } = refund
  const reservedMinor = (reservedBy(status) - reservedBy(previousStatus)) * amountMinor
  const refundedMinor = (givenBy(status) - givenBy(previousStatus)) * amountMinor
  const [changed] = await tx<RefundRow[]>`
    update refunds set
      status = ${status},
      previous_status = status,
      failure_code = ${failure?.code ?? null},
      failure_decline_code = ${failure?.declineCode ?? null},
      failure_message = ${failure?.message ?? null},
      provider_refund_id = coalesce(${refund.providerRefundId}, provider_refund_id),
      moved = ${refund.moved},
      updated_at = now()
    where tenant_id = ${tenantId} and id = ${id} and status = ${previousStatus}
    returning *
  `
  if (changed === undefined) throw new StaleResourceError(`refund ${id}`, previousStatus)
  const { count } = await tx`
    update payments set
      amount_refunding_minor = amount_refunding_minor + ${reservedMinor},
      amount_refunded_minor = amount_refunded_minor + ${refundedMinor},
      updated_at = now()
    where tenant_id = ${tenantId} and id = ${paymentId}
      and amount_refunding_minor + ${reservedMinor}
        <= amount_captured_minor - amount_refunded_minor - ${refundedMinor}
  `
  if (count === 0) throw new StaleResourceError(`refund ${id}`, previousStatus)
  return eventsOfChange('refund', changed, idempotencyKey)
}

/** 1 when a refund in this status reserves its amount, else 0. */
function reservedBy(status: RefundStatus): number {
  return ['processing', 'unknown', ...waitingRefundStatuses].includes(status) ? 1 : 0
}

/** 1 when a refund in this status has given its amount to the customer, else 0. */
function givenBy(status: RefundStatus): number {
  return status === 'succeeded' ? 1 : 0
}
