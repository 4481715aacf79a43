// Contracts of the endpoints that read disputes.
import { z } from 'zod'
import { disputeStatuses } from '../../domain/payments/dispute.ts'
import type { Contracts } from '../contracts/contract.ts'
import { listOf } from '../contracts/fields.ts'
import { idFilter, idInPath, oneOf } from '../contracts/parameters.ts'
import { disputeSchema } from './schema.ts'

export const disputeContracts: Contracts = {
  'GET /v1/disputes': {
    operationId: 'listDisputes',
    tag: 'Disputes',
    summary: 'List disputes',
    description: 'Returns your disputes, newest first.',
    isList: true,
    query: z.object({
      payment: idFilter('pay', 'Only return the disputes of this payment.'),
      status: oneOf(disputeStatuses, 'Only return disputes with this status.'),
    }),
    answers: {
      200: { description: 'A page of disputes.', schema: listOf('DisputeList', disputeSchema) },
    },
  },
  'GET /v1/disputes/:id': {
    operationId: 'getDispute',
    tag: 'Disputes',
    summary: 'Retrieve a dispute',
    description: 'Returns a dispute.',
    path: idInPath('dp', 'The id of the dispute.'),
    answers: { 200: { description: 'The dispute.', schema: disputeSchema } },
  },
}
