// The resource of an operation that is not finished, as the answers 202 show it.
import type { IdempotencyKey } from '../db/idempotency-keys.ts'
import { findPayment } from '../db/payments.ts'
import { findRefund } from '../db/refunds.ts'
import { paymentPath, presentPayment } from '../domain/payment.ts'
import { presentRefund, refundPath } from '../domain/refund.ts'
import type { ApiParts } from './endpoint.ts'

interface Shown {
  readonly path: string
  readonly body: string
}

export async function showPayment(
  { store }: ApiParts,
  { tenantId, paymentId, id }: IdempotencyKey,
): Promise<Shown> {
  const payment = paymentId === null ? undefined : await findPayment(store.sql, tenantId, paymentId)
  if (payment === undefined) throw new Error(`operation ${id} has lost its payment`)
  return { path: paymentPath(payment.id), body: JSON.stringify(presentPayment(payment)) }
}

export async function showRefund(
  { store }: ApiParts,
  { tenantId, refundId, id }: IdempotencyKey,
): Promise<Shown> {
  const refund = refundId === null ? undefined : await findRefund(store.sql, tenantId, refundId)
  if (refund === undefined) throw new Error(`operation ${id} has lost its refund`)
  return { path: refundPath(refund.id), body: JSON.stringify(presentRefund(refund)) }
}
