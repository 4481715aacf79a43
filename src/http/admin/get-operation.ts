// GET /admin/operations/:id
import { listPhaseRuns } from '../../db/operations/phase-runs.ts'
import type { OperationOverview } from '../../db/operators/operation-overviews.ts'
import { showJson } from '../answer.ts'
import { withinStoreTimeout, type AdminEndpoint, type ApiParts } from '../endpoint.ts'
import { presentPhaseRun } from '../show-phase-run.ts'
import { findRequestedOperation } from './requested-operation.ts'
import { presentOperation } from './show-operation.ts'

export const getOperation: AdminEndpoint = async (parts, request) => {
  const found = findRequestedOperation(parts.store.sql, request)
  const operation = await withinStoreTimeout(parts, found)
  const timeline = await withinStoreTimeout(parts, readTimeline(parts, operation))
  return showJson({ ...presentOperation(parts, operation), timeline })
}

async function readTimeline(
  { store }: ApiParts,
  { tenantId, paymentId, id }: OperationOverview,
): Promise<Record<string, unknown>[]> {
  if (paymentId === null) return []
  const runs = await listPhaseRuns(store, tenantId, paymentId)
  return runs.filter(({ operationId }) => operationId === id).map(presentPhaseRun)
}
