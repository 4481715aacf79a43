// GET /admin/providers: shows operators what each provider promises and can do.
import { keyWindowSeconds, settleSeconds } from '../../provider/capabilities.ts'
import { providerNames } from '../../provider/declared.ts'
import type { AdminEndpoint, ApiParts } from '../endpoint.ts'
import { refuseQuery } from '../requests/list-query.ts'
import { showJson } from '../responses/answer.ts'

/** What the adapters declare, with the settings that shorten or extend it. */
export const listProviders: AdminEndpoint = (parts, request) => {
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
