// Changes refunds, with their events, and the amounts that they reserve and take from their payment.
import {
  refundAfter,
  type ChangedRefund,
  type Refund,
  type RefundChange,
  type RefundStatus,
} from '../../domain/payments/refund.ts'
import { waitingRefundStatuses } from '../../domain/payments/refund-standing.ts'
import type { Fragment, Sql, Transaction } from '../connection/client.ts'
import { seesTenant } from '../connection/row-security.ts'
import { columnsOfChange, insertEventsOfChanges } from '../events/event-records.ts'
import { withoutFence } from '../operations/fence.ts'
import { StaleResourceError } from './payment-changes.ts'

/**
 * Changes a refund that is still in the status it was read with, adjusts the amounts of its
 * payment, and inserts the event.
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
  const { count } = await tx`
    with ${withoutFence(tx, refund.id, columnsOfChange(tx, 'refund', refund, idempotencyKey))},
    ${changeRefundsIfOwner(tx, [{ ownerId: refund.id, refund: changed }])}
    select from changed where ${seesTenant(tx, refund.tenantId)}
  `
  // The caller's transaction rolls back, including the changed amounts of the payment.
  if (count === 0) throw new StaleResourceError(`refund ${refund.id}`, refund.status)
  return changed
}

/**
 * The part `changed` of a statement, with the parts of its payments' amounts and its events: changes
 * the refund of each owner that is in the CTE `fenced`, if the refund is still in its previous
 * status. The payments differ. A refund is locked first, because an event can change it at the same
 * time.
 */
export function changeRefundsIfOwner(
  sql: Sql | Transaction,
  changes: readonly { readonly ownerId: string; readonly refund: ChangedRefund }[],
): Fragment {
  const rows = changes.map(({ ownerId, refund }) => ({
    owner_id: ownerId,
    tenant_id: refund.tenantId,
    id: refund.id,
    ...changedColumns(refund),
  }))
  return sql`
    unchanged as (
      select refunds.payment_id, change.*
      from fenced
      join jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as change (
        owner_id uuid, tenant_id uuid, id uuid, previous_status text, status text,
        failure_code text, failure_decline_code text, failure_message text,
        provider_refund_id text, moved boolean, reserved_minor bigint, refunded_minor bigint
      ) on change.owner_id = fenced.id
      cross join refunds
      where refunds.tenant_id = change.tenant_id and refunds.id = change.id
        and refunds.status = change.previous_status
      for no key update of refunds
    ),
    paid as (
      update payments set
        amount_refunding_minor = amount_refunding_minor + unchanged.reserved_minor,
        amount_refunded_minor = amount_refunded_minor + unchanged.refunded_minor,
        updated_at = now()
      from unchanged
      where payments.tenant_id = unchanged.tenant_id and payments.id = unchanged.payment_id
        and amount_refunding_minor + unchanged.reserved_minor
          <= amount_captured_minor - amount_refunded_minor - unchanged.refunded_minor
      returning payments.tenant_id, payments.id
    ),
    changed as (
      update refunds set
        status = unchanged.status,
        previous_status = refunds.status,
        failure_code = unchanged.failure_code,
        failure_decline_code = unchanged.failure_decline_code,
        failure_message = unchanged.failure_message,
        provider_refund_id = coalesce(unchanged.provider_refund_id, refunds.provider_refund_id),
        moved = unchanged.moved,
        updated_at = now()
      from unchanged
      join paid on paid.tenant_id = unchanged.tenant_id and paid.id = unchanged.payment_id
      where refunds.tenant_id = unchanged.tenant_id and refunds.id = unchanged.id
      returning refunds.*
    ),
    ${insertEventsOfChanges(sql, { cte: 'changed', kind: 'refund' }, 'fenced')}
  `
}

/** The columns of a changed refund, and what the change adds to the amounts of its payment. */
function changedColumns(refund: ChangedRefund): Record<string, unknown> {
  const { failure, amountMinor, status, previousStatus } = refund
  return {
    previous_status: previousStatus,
    status,
    failure_code: failure?.code ?? null,
    failure_decline_code: failure?.declineCode ?? null,
    failure_message: failure?.message ?? null,
    provider_refund_id: refund.providerRefundId,
    moved: refund.moved,
    reserved_minor: (reservedBy(status) - reservedBy(previousStatus)) * amountMinor,
    refunded_minor: (givenBy(status) - givenBy(previousStatus)) * amountMinor,
  }
}

/** 1 when a refund in this status reserves its amount, else 0. */
function reservedBy(status: RefundStatus): number {
  return ['processing', 'unknown', ...waitingRefundStatuses].includes(status) ? 1 : 0
}

/** 1 when a refund in this status has given its amount to the customer, else 0. */
function givenBy(status: RefundStatus): number {
  return status === 'succeeded' ? 1 : 0
}
