// The resource of an operation that is not finished, as the answers 202 show it.
import type { Reservation } from '../../db/idempotency/idempotency-keys.ts'
import { findPayment, paymentFromRow, type PaymentRow } from '../../db/payments/payments.ts'
import { findRefund, refundFromRow, type RefundRow } from '../../db/payments/refunds.ts'
import { paymentPath, presentPayment, type Payment } from '../../domain/payments/payment.ts'
import { presentRefund, refundPath, type Refund } from '../../domain/payments/refund.ts'
import type { ApiParts } from '../endpoint.ts'

interface Shown {
  readonly path: string
  readonly body: string
}

/** Of the row that the reservation has returned, when there is one; otherwise as it is now. */
export async function showPayment(
  { store }: ApiParts,
  { key: { tenantId, paymentId, id }, resource }: Reservation,
): Promise<Shown> {
  if (resource !== null) return shownPayment(paymentFromRow(resource as unknown as PaymentRow))
  const payment = paymentId === null ? undefined : await findPayment(store.sql, tenantId, paymentId)
  if (payment === undefined) throw new Error(`operation ${id} has lost its payment`)
  return shownPayment(payment)
}

function shownPayment(payment: Payment): Shown {
  return { path: paymentPath(payment.id), body: JSON.stringify(presentPayment(payment)) }
}

/** Of the row that the reservation has returned, when there is one; otherwise as it is now. */
export async function showRefund(
  { store }: ApiParts,
  { key: { tenantId, refundId, id }, resource }: Reservation,
): Promise<Shown> {
  if (resource !== null) return shownRefund(refundFromRow(resource as unknown as RefundRow))
  const refund = refundId === null ? undefined : await findRefund(store.sql, tenantId, refundId)
  if (refund === undefined) throw new Error(`operation ${id} has lost its refund`)
  return shownRefund(refund)
}

function shownRefund(refund: Refund): Shown {
  return { path: refundPath(refund.id), body: JSON.stringify(presentRefund(refund)) }
}
