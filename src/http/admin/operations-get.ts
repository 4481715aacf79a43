// GET /admin/operations and GET /admin/operations/:id: find operations, and return one with its
// timeline and with what operators claimed about it.
import {
  listOperationOverviews,
  type OperationOverview,
} from '../../db/operators/lists/operation-overviews.ts'
import { operationViews } from '../../db/operators/lists/operation-conditions.ts'
import { type AdminEndpoint, withinStoreTimeout, type ApiParts } from '../endpoint.ts'
import {
  keyFilter,
  oneOfFilter,
  paymentFilter,
  providerIdFilter,
  tenantFilter,
} from '../requests/list-filters.ts'
import { parseFilteredQuery } from '../requests/list-query.ts'
import { showPage } from '../responses/page-answer.ts'
import {
  findRequestedOperation,
  parseOperationId,
  presentOperation,
  showOperationId,
} from './operations-show.ts'
import { consequencesOfProposal, presentClaims } from './operations-doubt.ts'
import { presentResolution } from './operations-verdict.ts'
import {
  findLastResolution,
  listOpenProposals,
  PROPOSAL_HOURS,
  type OpenProposal,
} from '../../db/operators/admin-actions.ts'
import { listPhaseRuns } from '../../db/operations/phase-runs.ts'
import { showJson } from '../responses/answer.ts'
import { presentPhaseRun } from '../resources/payments.ts'
import { providerNames } from '../../provider/declared.ts'

const knownFilters = {
  status: oneOfFilter(
    'unknown, pending, processing, failed_retryable, stuck, dead, proposed or resolved',
    operationViews,
  ),
  tenant: tenantFilter,
  payment: paymentFilter,
  idempotency_key: keyFilter,
  provider_id: providerIdFilter,
}

export const listOperations: AdminEndpoint = async (parts, request) => {
  const { page, filters } = parseFilteredQuery(request.query, parseOperationId, knownFilters)
  const { status: view, tenant, payment, idempotency_key: key, provider_id: id } = filters
  const providerObject = id === undefined ? undefined : { providers: providerNames, id }
  const proposals = await withinStoreTimeout(parts, readProposals(parts))
  const filter = { view, tenant, payment, key, providerObject, proposals }
  const lookup = listOperationOverviews(parts.store.sql, filter, page)
  return showPage(await withinStoreTimeout(parts, lookup), (operation) => ({
    ...presentOperation(parts, operation),
    proposal: presentProposal(parts, operation, proposals),
  }))
}

export const getOperation: AdminEndpoint = async (parts, request, operator) => {
  const lookup = findRequestedOperation(parts.store.sql, request)
  const operation = await withinStoreTimeout(parts, lookup)
  const timeline = await withinStoreTimeout(parts, readTimeline(parts, operation))
  const subject = showOperationId(operation.id)
  const claimed = await withinStoreTimeout(parts, findLastResolution(parts.store.sql, subject))
  const resolution = presentResolution(claimed)
  const proposals = await withinStoreTimeout(parts, readProposals(parts))
  const proposal = presentProposal(parts, operation, proposals)
  const claims = presentClaims(parts, operation, operator)
  return showJson({ ...presentOperation(parts, operation), proposal, claims, resolution, timeline })
}

const readProposals = async ({ store }: ApiParts): Promise<OpenProposal[]> =>
  await listOpenProposals(store.sql, new Date())

function presentProposal(
  parts: ApiParts,
  operation: OperationOverview,
  proposals: readonly OpenProposal[],
): Record<string, unknown> | null {
  const { id, status, unknownAt } = operation
  const found = proposals.find(({ operationId }) => operationId === id)
  const isOpen = status === 'unknown' && unknownAt !== null
  if (found === undefined || !isOpen || found.proposedAt < unknownAt) return null
  const { actor, proposed, proposedAt } = found
  const expiresAt = new Date(proposedAt.getTime() + PROPOSAL_HOURS * 3_600_000)
  const consequences = consequencesOfProposal(parts, operation, proposed)
  return {
    proposed_by: actor,
    proposed_at: proposedAt,
    expires_at: expiresAt,
    proposed,
    consequences,
  }
}

async function readTimeline(
  { store }: ApiParts,
  { tenantId, paymentId, id }: OperationOverview,
): Promise<Record<string, unknown>[]> {
  if (paymentId === null) return []
  const runs = await listPhaseRuns(store, tenantId, paymentId)
  return runs.filter(({ operationId }) => operationId === id).map(presentPhaseRun)
}
