// Our ids in the order id of a transaction, by which Braintree can search. Custom fields would have
// to be set up in its control panel first. An order id has at most 255 characters, 127 with PayPal;
// this one has at most 121.
import { parsePaymentId, showPaymentId } from '../../src/domain/payments/payment.ts'
import { parseRefundId, showRefundId } from '../../src/domain/payments/refund.ts'
import { parseId, showId } from '../../src/domain/resource-id.ts'
import type { Correlation } from '../../src/provider/payment-provider.ts'

/** `tnt_….pay_….op_…`, and `.re_…` for a refund. Each operation has one of its own. */
export function showOrderId({ tenantId, paymentId, operationId, refundId }: Correlation): string {
  const ids = [showId('tnt', tenantId), showPaymentId(paymentId), showId('op', operationId)]
  return [...ids, ...(refundId === null ? [] : [showRefundId(refundId)])].join('.')
}

/** Null unless every part is well-formed: other clients choose order ids of their own. */
export function correlationIn(orderId: unknown): Correlation | null {
  if (typeof orderId !== 'string') return null
  const [tenant = '', payment = '', operation = '', refund, ...others] = orderId.split('.')
  const tenantId = parseId('tnt', tenant)
  const paymentId = parsePaymentId(payment)
  const operationId = parseId('op', operation)
  const refundId = refund === undefined ? null : parseRefundId(refund)
  const complete = tenantId !== undefined && paymentId !== undefined && operationId !== undefined
  if (!complete || refundId === undefined || others.length > 0) return null
  return { tenantId, paymentId, operationId, refundId }
}
