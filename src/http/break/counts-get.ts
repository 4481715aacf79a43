// GET /console/break/counts: the charges that the stand-in executed, beside the payments that the
// service knows.
import { countCharges } from '../../db/operators/charge-counts.ts'
import { withinStoreTimeout, type SessionEndpoint } from '../endpoint.ts'
import { refuseQuery } from '../requests/list-query.ts'
import { showJson } from '../responses/answer.ts'
import { askLauncher } from './launcher.ts'

export const getCounts: SessionEndpoint = async (parts, request) => {
  refuseQuery(request.query)
  // In this order, so that the service never seems to know of a charge that was not executed.
  const { charged, inProgress } = await withinStoreTimeout(parts, countCharges(parts.store.sql))
  const { executed, charged_twice, traffic_left } = await askLauncher(parts, 'GET', '/executed')
  return showJson({
    object: 'break_counts',
    provider_executed: executed,
    payments: charged,
    in_progress: inProgress,
    charged_twice,
    traffic_left,
  })
}
