// GET /admin/findings, GET /admin/findings/:id and POST /admin/findings/:id/resolve: list, return and
// close findings.
import { z } from 'zod'
import {
  listFindings,
  findFinding,
  resolveFindingByIdIfOpen,
} from '../../db/reconciliation/findings.ts'
import { findingStatuses } from '../../domain/operations/finding.ts'
import { withinStoreTimeout, type AdminEndpoint } from '../endpoint.ts'
import { oneOfFilter } from '../requests/list-filters.ts'
import { parseFilteredQuery } from '../requests/list-query.ts'
import { showPage } from '../responses/page-answer.ts'
import { parseFindingId, parseRunId, presentFinding } from './reconciliations-show.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { showJson } from '../responses/answer.ts'
import { textField } from '../requests/body-fields.ts'
import { adminCommand } from './admin-commands.ts'

const knownFilters = {
  status: oneOfFilter('open or resolved', findingStatuses),
  reconciliation: { expected: 'the id of one reconciliation', parse: parseRunId },
}

export const listFindingsEndpoint: AdminEndpoint = async (parts, request) => {
  const { page, filters } = parseFilteredQuery(request.query, parseFindingId, knownFilters)
  const { status, reconciliation: runId } = filters
  const lookup = listFindings(parts.store.sql, { status, runId }, page)
  return showPage(await withinStoreTimeout(parts, lookup), presentFinding)
}

export const getFindingEndpoint: AdminEndpoint = async (parts, request) => {
  const id = parseFindingId(String(request.params['id']))
  const lookup = id === undefined ? undefined : findFinding(parts.store.sql, id)
  const finding = lookup && (await withinStoreTimeout(parts, lookup))
  if (finding === undefined) throw new ProblemError('resource-not-found')
  return showJson(presentFinding(finding))
}

export const resolveFindingBody = z.strictObject({
  note: textField({ min: 1, max: 500 }).describe(
    'What was done about the finding. It is stored with the finding and in the audit trail.',
  ),
})

export const resolveFinding = adminCommand({
  action: 'finding.resolve',
  subject({ params }) {
    const text = String(params['id'])
    return parseFindingId(text) === undefined ? null : text
  },
  body: resolveFindingBody,
  async work(_parts, tx, { request, body: { note }, operator }) {
    const id = parseFindingId(String(request.params['id']))
    const before = id === undefined ? undefined : await findFinding(tx, id)
    if (before === undefined) throw new ProblemError('resource-not-found')
    if (!(await resolveFindingByIdIfOpen(tx, before.id, { by: operator, note }))) {
      throw new ProblemError('finding-not-open')
    }
    const finding = (await findFinding(tx, before.id)) ?? before
    return { answer: showJson(presentFinding(finding)), details: { result: 'resolved', note } }
  },
})
