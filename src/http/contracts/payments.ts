// The contracts of the endpoints for payments and refunds.
import { refundReasons } from '../../domain/payments/refund.ts'
import { cancelPaymentBody } from '../cancel-payment.ts'
import { capturePaymentBody } from '../capture-payment.ts'
import { createPaymentBody } from '../create-payment-body.ts'
import { createRefundBody } from '../create-refund.ts'
import { listOf } from '../schemas/fields.ts'
import { paymentSchema, phaseRunSchema, refundSchema } from '../schemas/payment.ts'
import type { Contracts, Success } from './contract.ts'
import { idInPath } from './parameters.ts'

const paymentInPath = idInPath('pay', 'The payment.')

const payment = (description: string): Success => ({
  description,
  schema: paymentSchema,
  headers: ['Location'],
})

const accepted = (what: string): string =>
  `Accepted, and not done yet: the ${what} as it is now. Retry with the same key, or read it at Location.`

export const paymentContracts: Contracts = {
  'POST /v1/payments': {
    operationId: 'createPayment',
    tag: 'Payments',
    summary: 'Charge a card, once',
    description:
      'However often the request is sent with the same key, the card is charged once at most. A payment that needs the holder of the card has status `requires_action`, and goes on by itself when the holder has authenticated.',
    keyed: 'foreign',
    body: {
      schema: createPaymentBody.meta({ id: 'CreatePayment' }),
      example: { amount: 1999, currency: 'usd', payment_method: 'pm_card_visa' },
    },
    answers: {
      201: payment('The payment, charged or waiting for its holder or its capture.'),
      202: payment(accepted('payment')),
    },
    problems: ['payment-declined', 'invalid-amount', 'unknown-currency'],
  },
  'GET /v1/payments': {
    operationId: 'listPayments',
    tag: 'Payments',
    summary: 'List payments, newest first',
    isList: true,
    answers: {
      200: { description: 'A page of payments.', schema: listOf('PaymentList', paymentSchema) },
    },
  },
  'GET /v1/payments/:id': {
    operationId: 'getPayment',
    tag: 'Payments',
    summary: 'Read a payment',
    path: paymentInPath,
    answers: { 200: { description: 'The payment.', schema: paymentSchema } },
  },
  'POST /v1/payments/:id/capture': {
    operationId: 'capturePayment',
    tag: 'Payments',
    summary: 'Take the money that a payment holds',
    path: paymentInPath,
    keyed: 'foreign',
    body: {
      schema: capturePaymentBody.meta({ id: 'CapturePayment' }),
      mayOmit: true,
      example: { amount: 1500 },
    },
    answers: { 200: payment('The payment, captured.'), 202: payment(accepted('payment')) },
    problems: [
      'payment-declined',
      'invalid-state',
      'invalid-amount',
      'capture-exceeds-authorization',
    ],
  },
  'POST /v1/payments/:id/cancel': {
    operationId: 'cancelPayment',
    tag: 'Payments',
    summary: 'Cancel a payment before it is captured',
    path: paymentInPath,
    keyed: 'foreign',
    body: {
      schema: cancelPaymentBody.meta({ id: 'CancelPayment' }),
      mayOmit: true,
      example: { reason: 'requested_by_customer' },
    },
    answers: { 200: payment('The payment, canceled.'), 202: payment(accepted('payment')) },
    problems: ['payment-declined', 'invalid-state'],
  },
  'GET /v1/payments/:id/timeline': {
    operationId: 'getPaymentTimeline',
    tag: 'Payments',
    summary: 'Read what was done for a payment, step by step',
    path: paymentInPath,
    answers: {
      200: {
        description: 'Every try of every step, oldest first.',
        schema: listOf('PaymentTimeline', phaseRunSchema),
      },
    },
  },
}

const refundList = listOf('RefundList', refundSchema)

export const refundContracts: Contracts = {
  'POST /v1/payments/:id/refunds': {
    operationId: 'createRefund',
    tag: 'Refunds',
    summary: 'Give something back of a payment, once',
    path: paymentInPath,
    keyed: 'foreign',
    body: {
      schema: createRefundBody.meta({ id: 'CreateRefund' }),
      mayOmit: true,
      example: { amount: 500, reason: refundReasons[2] },
    },
    answers: {
      201: { description: 'The refund.', schema: refundSchema, headers: ['Location'] },
      202: { description: accepted('refund'), schema: refundSchema, headers: ['Location'] },
    },
    problems: ['refund-declined', 'invalid-state', 'refund-exceeds-capture', 'invalid-amount'],
  },
  'GET /v1/payments/:id/refunds': {
    operationId: 'listPaymentRefunds',
    tag: 'Refunds',
    summary: 'List the refunds of a payment, newest first',
    path: paymentInPath,
    isList: true,
    answers: { 200: { description: 'A page of refunds.', schema: refundList } },
  },
  'GET /v1/refunds/:id': {
    operationId: 'getRefund',
    tag: 'Refunds',
    summary: 'Read a refund',
    path: idInPath('re', 'The refund.'),
    answers: { 200: { description: 'The refund.', schema: refundSchema } },
  },
}
