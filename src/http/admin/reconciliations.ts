// POST and GET /admin/reconciliations, and GET /admin/reconciliations/:id: request, list and return
// reconciliations.
import { z } from 'zod'
import {
  requestReconciliation,
  listRuns,
  findRun,
} from '../../db/reconciliation/reconciliation-runs.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { jsonType, showJson } from '../responses/answer.ts'
import { timeFilter } from '../requests/list-filters.ts'
import { adminCommand } from './admin-commands.ts'
import {
  presentRun,
  showRunId,
  parseRunId,
  parseFindingId,
  presentFinding,
} from './reconciliations-show.ts'
import { withinStoreTimeout, type AdminEndpoint } from '../endpoint.ts'
import { parseListQuery } from '../requests/list-query.ts'
import { showPage, presentPage } from '../responses/page-answer.ts'
import { listFindings } from '../../db/reconciliation/findings.ts'
import { providerNames } from '../../provider/declared.ts'
import { optionalField } from '../requests/body-fields.ts'

const timeField = z.string().transform((text, context) => {
  const time = timeFilter.parse(text)
  if (time !== undefined) return new Date(time)
  context.addIssue(`must be ${timeFilter.expected}`)
  return z.NEVER
})

export const requestReconciliationBody = z.strictObject({
  from: timeField.describe('The beginning of the period, inclusive.'),
  to: timeField.describe('The end of the period, exclusive.'),
  provider: optionalField(z.enum(providerNames)).describe(
    'The provider; by default that of the service.',
  ),
})

export const requestReconciliationEndpoint = adminCommand({
  action: 'reconciliation.request',
  body: requestReconciliationBody,
  async work({ providerName }, tx, { body: { from, to, provider }, operator }) {
    if (from >= to) {
      const errors = [{ pointer: '/to', detail: 'Must be later than from' }]
      throw new ProblemError('invalid-field', { detail: '/to: Must be later than from', errors })
    }
    const run = await requestReconciliation(tx, {
      provider: provider ?? providerName,
      from,
      to,
      requestedBy: operator,
    })
    return {
      answer: { status: 202, headers: jsonType, body: JSON.stringify(presentRun(run)) },
      subject: showRunId(run.id),
      details: { result: run.requestedBy === operator ? 'requested' : 'under_way', from, to },
    }
  },
})

export const listReconciliations: AdminEndpoint = async (parts, request) => {
  const page = parseListQuery(request.query, parseRunId)
  return showPage(await withinStoreTimeout(parts, listRuns(parts.store.sql, page)), presentRun)
}

export const getReconciliation: AdminEndpoint = async (parts, request) => {
  const { sql } = parts.store
  const page = parseListQuery(request.query, parseFindingId)
  const id = parseRunId(String(request.params['id']))
  const run = id === undefined ? undefined : await withinStoreTimeout(parts, findRun(sql, id))
  if (run === undefined) throw new ProblemError('resource-not-found')
  const findings = await withinStoreTimeout(parts, listFindings(sql, { runId: run.id }, page))
  return showJson({ ...presentRun(run), findings: presentPage(findings, presentFinding) })
}
