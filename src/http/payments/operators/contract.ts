// Contracts of the endpoints by which operators find payments of all tenants.
import { z } from 'zod'
import { CANDIDATES_MAX } from '../../../db/operators/lists/payment-candidates.ts'
import { SEARCHED_MAX } from '../../../db/operators/lists/payment-pages.ts'
import { paymentStatuses } from '../../../domain/payments/payment-status.ts'
import type { Contracts } from '../../contracts/contract.ts'
import { EXAMPLE_KEY } from '../../contracts/fields.ts'
import { idFilter, idInPath, oneOf } from '../../contracts/parameters.ts'
import { paymentOverviewListSchema, paymentWithLifeSchema } from './schema.ts'

const filterText = (description: string, example: string) =>
  z
    .string()
    .meta({ description, examples: [example] })
    .optional()

export const operatorPaymentContracts: Contracts = {
  'GET /admin/payments': {
    operationId: 'listTenantPayments',
    tag: 'Operators',
    summary: 'List payments of tenants',
    description: `Returns the payments of all tenants, newest first, each with its newest operation that is not completed. Several filters must all match. A page looks at ${SEARCHED_MAX} payments at most to find those of a status, a currency or an amount, and at ${CANDIDATES_MAX} stuck ones; \`searched_to\` says when it ended there. No payment has its client secret.`,
    isList: true,
    query: z.object({
      tenant: idFilter('tnt', 'Only return payments of this tenant.'),
      status: oneOf(paymentStatuses, 'Only return payments with this status.'),
      stuck: oneOf(
        ['true'],
        'Only return payments with an operation in progress that no worker works on any more.',
      ),
      currency: filterText(
        'Only return payments in this currency: a three-letter ISO 4217 code, in lower case.',
        'usd',
      ),
      amount: filterText(
        'Only return payments of this amount, in the smallest unit of the currency.',
        '1999',
      ),
      key: filterText(
        'Only return the payment that a request with this idempotency key created or changed, without the quotes of its header. The service forgets a key after its retention.',
        EXAMPLE_KEY,
      ),
      provider_id: filterText(
        "Only return the payment that has this id at the provider, or has a refund or dispute with this id of the provider's.",
        'pi_3SZ0001',
      ),
    }),
    answers: {
      200: {
        description: 'A page of payments.',
        schema: paymentOverviewListSchema,
      },
    },
  },
  'GET /admin/payments/:id': {
    operationId: 'getTenantPayment',
    tag: 'Operators',
    summary: 'Retrieve a payment of a tenant',
    description:
      'Returns a payment of any tenant with its life: its operations and their attempts, its events and their deliveries, its entries in the ledger, its refunds and its disputes.',
    path: idInPath('pay', 'The id of the payment.'),
    answers: {
      200: { description: 'The payment with its life.', schema: paymentWithLifeSchema },
    },
  },
}
