// GET /admin/operations
import { listOperationOverviews, operationViews } from '../../db/operators/operation-overviews.ts'
import type { AdminEndpoint } from '../endpoint.ts'
import { withinStoreTimeout } from '../endpoint.ts'
import { oneOfFilter } from '../list-filters.ts'
import { parseFilteredQuery } from '../list-query.ts'
import { showPage } from '../show-page.ts'
import { parseOperationId } from './requested-operation.ts'
import { presentOperation } from './show-operation.ts'

const filtersKnown = {
  status: oneOfFilter(
    'unknown, pending, processing, failed_retryable, stuck or dead',
    operationViews,
  ),
}

export const listOperations: AdminEndpoint = async (parts, request) => {
  const { page, filters } = parseFilteredQuery(request.query, parseOperationId, filtersKnown)
  const found = listOperationOverviews(parts.store.sql, filters.status, page)
  return showPage(await withinStoreTimeout(parts, found), (operation) =>
    presentOperation(parts, operation),
  )
}
