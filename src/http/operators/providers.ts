// GET /admin/providers: the providers, and what each promises.
import { keyWindowSeconds, settleSeconds } from '../../provider/capabilities.ts'
import { providerNames } from '../../provider/adapters.ts'
import type { AdminEndpoint, ApiParts } from '../endpoint.ts'
import { refuseQuery } from '../requests/list-query.ts'
import { showJson } from '../responses/answer.ts'
import { admin } from '../server/route.ts'
import { z } from 'zod'
import type { Endpoints } from '../contracts/contract.ts'

/** What the adapters declare, with the settings that shorten or extend it. */
const listProviders: AdminEndpoint = (parts, request) => {
  refuseQuery(request.query)
  return Promise.resolve(
    showJson({
      object: 'list',
      data: providerNames.map((name) => presentProvider(parts, name)),
      has_more: false,
    }),
  )
}

function presentProvider(
  { providerName, capabilitiesOf, settings }: ApiParts,
  name: string,
): Record<string, unknown> {
  const declared = capabilitiesOf(name)
  const { chargeMinimaMinor } = declared.amounts
  return {
    object: 'provider',
    name,
    is_default: name === providerName,
    key_window_seconds: keyWindowSeconds(declared, settings),
    keeps_failures: declared.keys?.keepsFailures ?? false,
    settle_seconds: settleSeconds(declared, settings),
    look_up_lag_seconds: declared.lookUpLagSeconds,
    partial_capture: declared.partialCapture,
    incremental_authorization: declared.incrementalAuthorization,
    every_currency: declared.everyCurrency,
    void: declared.void,
    refunds_may_fail: declared.refundsMayFail,
    authentication: declared.authentication,
    minimum_amounts: Object.fromEntries(chargeMinimaMinor),
  }
}

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

export const providerEndpoints: Endpoints = {
  'GET /admin/providers': {
    serve: admin(listProviders),
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
