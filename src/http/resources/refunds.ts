// GET /v1/refunds, GET /v1/refunds/:id and GET /v1/payments/:id/refunds: list refunds, and return one.
import { findRefund } from '../../db/payments/refunds.ts'
import { listRefunds as readRefunds } from '../../db/payments/lists.ts'
import { parseRefundId, presentRefund } from '../../domain/payments/refund.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { checkOnRead } from './payments.ts'
import { findRequestedPayment, paymentInPath, refundSchema } from './payment.ts'
import { referenceFilter, parseFilteredQuery, parseListQuery } from '../requests/list-query.ts'
import { showJson, showPage } from '../responses/answer.ts'
import type { TenantEndpoint } from '../endpoint.ts'
import { tenant } from '../server/route.ts'
import { z } from 'zod'
import type { Endpoints } from '../contracts/contract.ts'
import { listOf } from '../contracts/fields.ts'
import { idInPath } from '../contracts/parameters.ts'
import { referenceField } from '../requests/body-fields.ts'

const knownFilters = { reference: referenceFilter }

const listRefunds: TenantEndpoint = async ({ store }, request, tenantId) => {
  const { page, filters } = parseFilteredQuery(request.query, parseRefundId, knownFilters)
  return showPage(await readRefunds(store.sql, tenantId, filters, page), presentRefund)
}

const getRefund: TenantEndpoint = async (parts, request, tenantId) => {
  const id = parseRefundId(String(request.params['id']))
  const refund = id === undefined ? undefined : await findRefund(parts.store.sql, tenantId, id)
  if (refund === undefined) throw new ProblemError('resource-not-found')
  await checkOnRead(parts, refund)
  return showJson(presentRefund(refund))
}

const listPaymentRefunds: TenantEndpoint = async (parts, request, tenantId) => {
  const page = parseListQuery(request.query, parseRefundId)
  const { id: paymentId } = await findRequestedPayment(parts, request, tenantId)
  return showPage(await readRefunds(parts.store.sql, tenantId, { paymentId }, page), presentRefund)
}

const refundList = listOf('RefundList', refundSchema)

export const refundEndpoints: Endpoints = {
  'GET /v1/refunds': {
    serve: tenant(listRefunds, 'payments:read'),
    operationId: 'listRefunds',
    tag: 'Refunds',
    summary: 'List refunds',
    description: 'Returns your refunds, newest first.',
    isList: true,
    query: z.object({
      reference: referenceField
        .optional()
        .describe('Only return refunds with this reference, also those that were declined.'),
    }),
    answers: { 200: { description: 'A page of refunds.', schema: refundList } },
  },
  'GET /v1/payments/:id/refunds': {
    serve: tenant(listPaymentRefunds, 'payments:read'),
    operationId: 'listPaymentRefunds',
    tag: 'Refunds',
    summary: 'List the refunds of a payment',
    description: 'Returns the refunds of a payment, newest first.',
    path: paymentInPath,
    isList: true,
    answers: { 200: { description: 'A page of refunds.', schema: refundList } },
  },
  'GET /v1/refunds/:id': {
    serve: tenant(getRefund, 'payments:read'),
    operationId: 'getRefund',
    tag: 'Refunds',
    summary: 'Retrieve a refund',
    description:
      'Returns a refund. If its outcome is unknown, the request also makes the service look up the outcome at the provider soon.',
    path: idInPath('re', 'The id of the refund.'),
    answers: { 200: { description: 'The refund.', schema: refundSchema } },
  },
}
