// POST /v1/payments
import { randomUUIDv7 } from 'node:crypto'
import { insertPayment } from '../db/payments/payments.ts'
import { createPayment } from '../operations/create-payment/phases.ts'
import { validateCreatePayment } from './create-payment-body.ts'
import { keyedEndpoint } from './keyed-endpoint.ts'
import { showPayment } from './show-unfinished.ts'

export const createPaymentEndpoint = keyedEndpoint({
  operation: createPayment,
  read: async (_parts, { body }) => ({
    input: validateCreatePayment(body),
    paymentId: randomUUIDv7(),
  }),
  resource: (sql, input, { providerName }) => insertPayment(sql, input, providerName),
  explainRefusal: async () => {
    throw new Error('a new payment is never refused')
  },
  showUnfinished: showPayment,
})
