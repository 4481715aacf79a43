// GET /console/break/faults: the faults that wait to strike.
import type { SessionEndpoint } from '../endpoint.ts'
import { refuseQuery } from '../requests/list-query.ts'
import { showJson } from '../responses/answer.ts'
import { askLauncher } from './launcher.ts'

export const listFaults: SessionEndpoint = async (parts, request) => {
  refuseQuery(request.query)
  const { data } = await askLauncher(parts, 'GET', '/faults')
  return showJson({ object: 'break_fault_list', data })
}
