// POST /admin/reconciliations
import { z } from 'zod'
import { requestReconciliation } from '../../db/reconciliation/reconciliation-runs.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { jsonType } from '../answer.ts'
import { timeFilter } from '../list-filters.ts'
import { adminCommand } from './audited.ts'
import { presentRun, showRunId } from './show-reconciliation.ts'

const timeField = z.string().transform((text, context) => {
  const time = timeFilter.parse(text)
  if (time !== undefined) return new Date(time)
  context.addIssue(`must be ${timeFilter.expected}`)
  return z.NEVER
})

export const requestReconciliationBody = z.strictObject({
  from: timeField.describe('The beginning of the window, included.'),
  to: timeField.describe('Its end, not included.'),
})

export const requestReconciliationEndpoint = adminCommand({
  action: 'reconciliation.request',
  body: requestReconciliationBody,
  async work({ providerName: provider }, tx, { body: { from, to }, operator }) {
    if (from >= to) {
      const errors = [{ pointer: '/to', detail: 'Must be later than from' }]
      throw new ProblemError('invalid-field', { detail: '/to: Must be later than from', errors })
    }
    const run = await requestReconciliation(tx, { provider, from, to, requestedBy: operator })
    return {
      answer: { status: 202, headers: jsonType, body: JSON.stringify(presentRun(run)) },
      subject: showRunId(run.id),
      details: { result: run.requestedBy === operator ? 'requested' : 'under_way', from, to },
    }
  },
})
