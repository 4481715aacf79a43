// The contract of the list of providers.
import { z } from 'zod'
import type { Contracts } from '../contracts/contract.ts'

const seconds = (description: string) => z.int().meta({ description })
const can = (description: string) => z.boolean().meta({ description })

const providerSchema = z
  .object({
    object: z.literal('provider'),
    name: z.string(),
    is_default: can('Whether it is the provider of tenants that have none of their own.'),
    key_window_seconds: seconds(
      'For how long a call may be repeated under its provider key. 0: never, because the provider keeps no keys.',
    ),
    keeps_failures: can('Whether it keeps a failure under a key, and may complete the call later.'),
    settle_seconds: seconds('How long a call without an answer may still be executed.'),
    look_up_lag_seconds: seconds(
      'How long a look-up may miss a call that was executed. Null: no look-up proves that a call was not executed.',
    ).nullable(),
    partial_capture: can('Whether a capture may take less than what is held.'),
    incremental_authorization: can('Whether the held amount can be changed.'),
    every_currency: can(
      'Whether one account takes every currency. If not, a tenant has it for the currencies that are named.',
    ),
    void: can('Whether a hold can be released before it expires.'),
    refunds_may_fail: can('Whether a refund that succeeded can fail later.'),
    authentication: can('Whether a payer can be asked to authenticate after the request.'),
    minimum_amounts: z.record(z.string(), z.int()).meta({
      description: 'The smallest charge by currency, in minor units. Others are not known here.',
    }),
  })
  .meta({ id: 'Provider' })

export const providerContracts: Contracts = {
  'GET /admin/providers': {
    operationId: 'listProviders',
    tag: 'Operators',
    summary: 'List the providers',
    description:
      'Returns the payment providers that this version knows, and what each promises and can do. Whether the workers have the keys of one is not said here: see `npm run doctor`.',
    refusesQuery: true,
    answers: {
      200: {
        description: 'The providers.',
        schema: z
          .object({
            object: z.literal('list'),
            data: z.array(providerSchema),
            has_more: z.literal(false),
          })
          .meta({ id: 'ProviderList' }),
      },
    },
  },
}
