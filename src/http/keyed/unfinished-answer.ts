// Renders the resource of an operation that is not completed, for answers with status 202.
import type { Reservation } from '../../db/idempotency/intents.ts'
import { findPayment, paymentFromRow, type PaymentRow } from '../../db/payments/payments.ts'
import { findRefund, refundFromRow, type RefundRow } from '../../db/payments/refunds.ts'
import { paymentPath, presentPayment, type Payment } from '../../domain/payments/payment.ts'
import { presentRefund, refundPath, type Refund } from '../../domain/payments/refund.ts'
import type { ApiParts } from '../endpoint.ts'

interface UnfinishedResource {
  readonly path: string
  readonly body: string
}

/** Renders the row that the reservation returned; without one, reads the resource. */
export async function showPayment(
  { store }: ApiParts,
  { key: { tenantId, paymentId, id }, resource }: Reservation,
): Promise<UnfinishedResource> {
  if (resource !== null) return renderPayment(paymentFromRow(resource as PaymentRow))
  const payment = paymentId === null ? undefined : await findPayment(store.sql, tenantId, paymentId)
  if (payment === undefined) throw new Error(`operation ${id} has no payment`)
  return renderPayment(payment)
}

function renderPayment(payment: Payment): UnfinishedResource {
  return { path: paymentPath(payment.id), body: JSON.stringify(presentPayment(payment)) }
}

/** Renders the row that the reservation returned; without one, reads the resource. */
export async function showRefund(
  { store }: ApiParts,
  { key: { tenantId, refundId, id }, resource }: Reservation,
): Promise<UnfinishedResource> {
  if (resource !== null) return renderRefund(refundFromRow(resource as RefundRow))
  const refund = refundId === null ? undefined : await findRefund(store.sql, tenantId, refundId)
  if (refund === undefined) throw new Error(`operation ${id} has no refund`)
  return renderRefund(refund)
}

function renderRefund(refund: Refund): UnfinishedResource {
  return { path: refundPath(refund.id), body: JSON.stringify(presentRefund(refund)) }
}
