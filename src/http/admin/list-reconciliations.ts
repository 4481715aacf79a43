// GET /admin/reconciliations
import { listRuns } from '../../db/reconciliation/reconciliation-runs.ts'
import { withinStoreTimeout, type AdminEndpoint } from '../endpoint.ts'
import { parseListQuery } from '../list-query.ts'
import { showPage } from '../show-page.ts'
import { parseRunId, presentRun } from './show-reconciliation.ts'

export const listReconciliations: AdminEndpoint = async (parts, request) => {
  const page = parseListQuery(request.query, parseRunId)
  return showPage(await withinStoreTimeout(parts, listRuns(parts.store.sql, page)), presentRun)
}
