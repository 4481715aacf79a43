// GET /admin/providers: the providers, and what each promises.
import { z } from 'zod'
import { providerNames } from '../../provider/adapters.ts'
import { abilities, keyWindowSeconds, settleSeconds } from '../../provider/capabilities.ts'
import type { Endpoints } from '../contracts/contract.ts'
import { shownCount, shownFlag, render, type Json } from '../contracts/fields.ts'
import { type AdminEndpoint, type ServiceParts, admin } from '../endpoint.ts'
import { refuseQuery } from '../requests/list-query.ts'
import { showJson } from '../responses/answer.ts'

const shownAbilities = Object.fromEntries(
  Object.entries(abilities).map(([name, { means }]) => [
    name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    shownFlag(means),
  ]),
)

const providerSchema = z
  .object({
    object: z.literal('provider'),
    name: z.string(),
    is_default: shownFlag('Whether it is the provider of tenants that have none of their own.'),
    key_window_seconds: shownCount(
      'For how long a call may be repeated under its provider key. 0: never, because the provider keeps no keys.',
    ),
    keeps_failures: shownFlag(
      'Whether it keeps a failure under a key, and may complete the call later.',
    ),
    settle_seconds: shownCount('How long a call without an answer may still be executed.'),
    look_up_lag_seconds: shownCount(
      'How long a lookup may miss a call that was executed. Null: no lookup proves that a call was not executed.',
    ).nullable(),
    ...shownAbilities,
    minimum_amounts: z.record(z.string(), z.int()).meta({
      description: 'The smallest charge by currency, in minor units. Others are not known here.',
    }),
  })
  .meta({ id: 'Provider' })

/** What the adapters declare, with the settings that shorten or extend it. */
const listProviders: AdminEndpoint = (parts, request) => {
  refuseQuery(request.query)
  const data = providerNames.map((name) => presentProvider(parts, name))
  return Promise.resolve(showJson({ object: 'list', data, has_more: false }))
}

function presentProvider({ providers, settings }: ServiceParts, name: string): Json {
  const declared = providers.capabilitiesOf(name)
  return render(providerSchema, {
    ...declared,
    name,
    isDefault: name === providers.defaultName,
    keyWindowSeconds: keyWindowSeconds(declared, settings),
    keepsFailures: declared.keys?.keepsFailures ?? false,
    settleSeconds: settleSeconds(declared, settings),
    minimumAmounts: Object.fromEntries(declared.amounts.chargeMinimaMinor),
  })
}

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
