// GET /admin/findings
import { listFindings } from '../../db/reconciliation/findings.ts'
import { findingStatuses } from '../../domain/operations/finding.ts'
import { withinStoreTimeout, type AdminEndpoint } from '../endpoint.ts'
import { oneOfFilter } from '../list-filters.ts'
import { parseFilteredQuery } from '../list-query.ts'
import { showPage } from '../show-page.ts'
import { parseFindingId, parseRunId, presentFinding } from './show-reconciliation.ts'

const filtersKnown = {
  status: oneOfFilter('open or resolved', findingStatuses),
  reconciliation: { expected: 'the id of one reconciliation', parse: parseRunId },
}

export const listFindingsEndpoint: AdminEndpoint = async (parts, request) => {
  const { page, filters } = parseFilteredQuery(request.query, parseFindingId, filtersKnown)
  const { status, reconciliation: runId } = filters
  const wanted = {
    ...(status === undefined ? {} : { status }),
    ...(runId === undefined ? {} : { runId }),
  }
  const found = listFindings(parts.store.sql, wanted, page)
  return showPage(await withinStoreTimeout(parts, found), presentFinding)
}
