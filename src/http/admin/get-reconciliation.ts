// GET /admin/reconciliations/:id: the comparison, and a page of its findings.
import { listFindings } from '../../db/reconciliation/findings.ts'
import { findRun } from '../../db/reconciliation/reconciliation-runs.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { showJson } from '../answer.ts'
import { withinStoreTimeout, type AdminEndpoint } from '../endpoint.ts'
import { parseListQuery } from '../list-query.ts'
import { presentPage } from '../show-page.ts'
import { parseFindingId, parseRunId, presentFinding, presentRun } from './show-reconciliation.ts'

export const getReconciliation: AdminEndpoint = async (parts, request) => {
  const { sql } = parts.store
  const page = parseListQuery(request.query, parseFindingId)
  const id = parseRunId(String(request.params['id']))
  const run = id === undefined ? undefined : await withinStoreTimeout(parts, findRun(sql, id))
  if (run === undefined) throw new ProblemError('resource-not-found')
  const found = await withinStoreTimeout(parts, listFindings(sql, { runId: run.id }, page))
  return showJson({ ...presentRun(run), findings: presentPage(found, presentFinding) })
}
