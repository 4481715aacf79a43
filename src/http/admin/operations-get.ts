// GET /admin/operations and GET /admin/operations/:id: find operations, and return one with its
// timeline and with what operators claimed about it.
import {
  listOperationOverviews,
  operationViews,
  type OperationOverview,
} from '../../db/operators/operation-overviews.ts'
import { type AdminEndpoint, withinStoreTimeout, type ApiParts } from '../endpoint.ts'
import { oneOfFilter, paymentFilter, tenantFilter } from '../requests/list-filters.ts'
import { parseFilteredQuery } from '../requests/list-query.ts'
import { showPage } from '../responses/page-answer.ts'
import {
  findRequestedOperation,
  parseOperationId,
  presentOperation,
  showOperationId,
} from './operations-show.ts'
import { presentResolution } from './operations-verdict.ts'
import { findLastResolution } from '../../db/operators/admin-actions.ts'
import { listPhaseRuns } from '../../db/operations/phase-runs.ts'
import { KEY_LENGTH_MAX } from '../../domain/idempotency/idempotency-key.ts'
import type { Filter } from '../requests/list-query.ts'
import { showJson } from '../responses/answer.ts'
import { presentPhaseRun } from '../payments/payments-get.ts'

const matching = (pattern: RegExp, expected: string): Filter<string> => ({
  expected,
  parse: (text) => (pattern.test(text) ? text : undefined),
})

const knownFilters = {
  status: oneOfFilter(
    'unknown, pending, processing, failed_retryable, stuck or dead',
    operationViews,
  ),
  tenant: tenantFilter,
  payment: paymentFilter,
  // As it is stored: without quotes.
  idempotency_key: matching(
    new RegExp(`^[\\x20-\\x7E]{1,${KEY_LENGTH_MAX}}$`),
    'one idempotency key',
  ),
  provider_id: matching(
    // `dp_`: the ids of older disputes.
    /^(pi|re|pyr|du|dp)_[A-Za-z0-9_]{1,200}$/,
    'the id of one payment intent, refund or dispute at the provider',
  ),
}

export const listOperations: AdminEndpoint = async (parts, request) => {
  const { page, filters } = parseFilteredQuery(request.query, parseOperationId, knownFilters)
  const { status: view, tenant, payment, idempotency_key: key, provider_id: id } = filters
  const providerObject = id === undefined ? undefined : { provider: parts.providerName, id }
  const filter = { view, tenant, payment, key, providerObject }
  const lookup = listOperationOverviews(parts.store.sql, filter, page)
  return showPage(await withinStoreTimeout(parts, lookup), (operation) =>
    presentOperation(parts, operation),
  )
}

export const getOperation: AdminEndpoint = async (parts, request) => {
  const lookup = findRequestedOperation(parts.store.sql, request)
  const operation = await withinStoreTimeout(parts, lookup)
  const timeline = await withinStoreTimeout(parts, readTimeline(parts, operation))
  const subject = showOperationId(operation.id)
  const claimed = await withinStoreTimeout(parts, findLastResolution(parts.store.sql, subject))
  const resolution = presentResolution(claimed)
  return showJson({ ...presentOperation(parts, operation), resolution, timeline })
}

async function readTimeline(
  { store }: ApiParts,
  { tenantId, paymentId, id }: OperationOverview,
): Promise<Record<string, unknown>[]> {
  if (paymentId === null) return []
  const runs = await listPhaseRuns(store, tenantId, paymentId)
  return runs.filter(({ operationId }) => operationId === id).map(presentPhaseRun)
}
