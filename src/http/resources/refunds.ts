// GET /v1/refunds, GET /v1/refunds/:id and GET /v1/payments/:id/refunds: list refunds, and return one.
import { findRefund, listRefunds } from '../../db/payments/refunds.ts'
import { presentRefund, type Refund } from '../../domain/payments/refund.ts'
import type { Endpoints } from '../contracts/contract.ts'
import { listOf } from '../contracts/fields.ts'
import { readOne, readList, type Resource } from '../contracts/reads.ts'
import { byReference } from '../contracts/parameters.ts'
import { refundSchema } from './payment.ts'
import { checkOnRead, sharedPayment } from './payments.ts'

const refund = {
  prefix: 're',
  schema: refundSchema,
  idInPath: 'The id of the refund.',
  find: (sql, id, tenantId) => findRefund(sql, tenantId, id),
  present: presentRefund,
} satisfies Resource<Refund>

const page = {
  of: refund,
  tag: 'Refunds',
  scope: 'payments:read',
  answer: 'A page of refunds.',
  schema: listOf('RefundList', refundSchema),
} as const

export const refundEndpoints: Endpoints = {
  'GET /v1/refunds': readList({
    operationId: 'listRefunds',
    summary: 'List refunds',
    description: 'Returns your refunds, newest first.',
    filters: {
      reference: byReference('refunds'),
    },
    read: ({ store }, request, filters, { reader }) =>
      listRefunds(store.sql, reader, filters, request),
    ...page,
  }),
  'GET /v1/payments/:id/refunds': readList({
    operationId: 'listPaymentRefunds',
    summary: 'List the refunds of a payment',
    description: 'Returns the refunds of a payment, newest first.',
    below: sharedPayment,
    read: ({ store }, request, _filters, { reader, owner: { id: paymentId } }) =>
      listRefunds(store.sql, reader, { paymentId }, request),
    ...page,
  }),
  'GET /v1/refunds/:id': readOne({
    operationId: 'getRefund',
    summary: 'Retrieve a refund',
    description:
      'Returns a refund. If its outcome is unknown, the request also makes the service look up the outcome at the provider soon.',
    of: refund,
    tag: 'Refunds',
    scope: 'payments:read',
    async show(parts, found) {
      await checkOnRead(parts, found)
      return presentRefund(found)
    },
    answer: 'The refund.',
  }),
}
