// POST /v1/payments
import { findPayment, insertReservedPayment } from '../db/payments.ts'
import { paymentPath, presentPayment } from '../domain/payment.ts'
import { createPayment } from '../operations/create-payment.ts'
import { validateCreatePayment } from './create-payment-body.ts'
import type { ApiParts } from './endpoint.ts'
import { keyedEndpoint } from './keyed-endpoint.ts'
import type { IdempotencyKey } from '../db/idempotency-keys.ts'

export const createPaymentEndpoint = keyedEndpoint({
  operation: createPayment,
  validate: validateCreatePayment,
  insertResource: (sql, input, { providerName }) => insertReservedPayment(sql, input, providerName),
  showUnfinished: showPayment,
})

async function showPayment({ store }: ApiParts, { tenantId, paymentId }: IdempotencyKey) {
  const payment = await findPayment(store.sql, tenantId, paymentId)
  if (payment === undefined) throw new Error(`a key has lost its payment ${paymentId}`)
  return { path: paymentPath(paymentId), body: JSON.stringify(presentPayment(payment)) }
}
