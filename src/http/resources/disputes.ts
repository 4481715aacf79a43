// GET /v1/disputes and GET /v1/disputes/:id: list and return disputes.
import { z } from 'zod'
import { findDispute, listDisputes } from '../../db/payments/disputes.ts'
import { disputeStatuses, presentDispute, type Dispute } from '../../domain/payments/dispute.ts'
import type { Endpoints } from '../contracts/contract.ts'
import {
  EXAMPLE_TIME,
  exampleId,
  idField,
  shownAmount,
  shownCurrency,
  timeField,
} from '../contracts/fields.ts'
import { byId, byName } from '../contracts/parameters.ts'
import { readOne, readList, type Resource } from '../contracts/reads.ts'

const exampleDispute = {
  id: exampleId('dp'),
  object: 'dispute',
  payment: exampleId('pay'),
  amount: 1999,
  amount_withdrawn: 1999,
  amount_reinstated: 0,
  currency: 'usd',
  fee: 1500,
  fee_currency: 'usd',
  reason: 'fraudulent',
  status: 'needs_response',
  evidence_due_at: EXAMPLE_TIME,
  provider: { dispute_id: 'du_1QXyZ2CZ6qsJgndJ' },
  opened_at: EXAMPLE_TIME,
  created_at: EXAMPLE_TIME,
}

export const disputeSchema = z
  .object({
    id: idField('dp', 'The id of the dispute.'),
    object: z.literal('dispute'),
    payment: idField('pay', 'The payment that is disputed.'),
    amount: shownAmount(
      'The disputed amount, which can be lower or higher than the amount of the payment',
    ),
    amount_withdrawn: shownAmount('What the dispute has taken from the balance'),
    amount_reinstated: shownAmount('What it has given back'),
    currency: shownCurrency,
    fee: z.int().meta({
      description: "The provider's fees for it, less those that came back, in minor units.",
    }),
    fee_currency: shownCurrency.nullable().meta({
      description: "The currency of the provider's balance. Null while there is no fee.",
    }),
    reason: z.string().meta({ description: "The cardholder's reason, in the provider's words." }),
    status: z.enum(disputeStatuses).meta({
      description:
        'The status at the provider, which is where you answer it. `warning_needs_response`, `warning_under_review`, `warning_closed`: an inquiry, which moves no money. `needs_response` and `under_review`: the amount is withdrawn, and the payment cannot be refunded. `won`: the amount comes back. `lost`: it does not, except if the dispute rarely turns `won` later. `prevented`: it was ended before it began. `appeal_needs_response`, `appeal_under_review`: the decision is appealed.',
    }),
    evidence_due_at: timeField('Until when the provider accepts evidence.').nullable(),
    provider: z.object({
      dispute_id: z.string().meta({ description: "The provider's id of the dispute." }),
    }),
    opened_at: timeField('When the dispute was opened at the provider.'),
    created_at: timeField('When the service learned of it.'),
  })
  .meta({ id: 'Dispute', examples: [exampleDispute] })

const dispute = {
  prefix: 'dp',
  schema: disputeSchema,
  idInPath: 'The id of the dispute.',
  find: (sql, id, tenantId) => findDispute(sql, tenantId, id),
  present: presentDispute,
} satisfies Resource<Dispute>

export const disputeEndpoints: Endpoints = {
  'GET /v1/disputes': readList({
    operationId: 'listDisputes',
    summary: 'List disputes',
    description: 'Returns your disputes, newest first.',
    of: dispute,
    tag: 'Disputes',
    scope: 'payments:read',
    filters: {
      payment: byId('pay', 'payment', 'Only return the disputes of this payment.'),
      status: byName(
        disputeStatuses,
        'one status, such as needs_response',
        'Only return disputes with this status.',
      ),
    },
    read: ({ store }, page, { payment: paymentId, status }, { reader }) =>
      listDisputes(store.sql, reader, { paymentId, status }, page),
    answer: 'A page of disputes.',
  }),
  'GET /v1/disputes/:id': readOne({
    operationId: 'getDispute',
    summary: 'Retrieve a dispute',
    description: 'Returns a dispute.',
    of: dispute,
    tag: 'Disputes',
    scope: 'payments:read',
    answer: 'The dispute.',
  }),
}
