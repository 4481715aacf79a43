// POST /admin/findings/:id/resolve
import { z } from 'zod'
import { findFinding, resolveFindingByIdIfOpen } from '../../db/reconciliation/findings.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { showJson } from '../answer.ts'
import { textField } from '../body-fields.ts'
import { adminCommand } from './audited.ts'
import { parseFindingId, presentFinding } from './show-reconciliation.ts'

export const resolveFindingBody = z.strictObject({
  note: textField({ min: 1, max: 500 }).describe(
    'What was done about it, for whoever reads it later.',
  ),
})

export const resolveFinding = adminCommand({
  action: 'finding.resolve',
  subject({ params }) {
    const named = String(params['id'])
    return parseFindingId(named) === undefined ? null : named
  },
  body: resolveFindingBody,
  async work(_parts, tx, { request, body: { note }, operator }) {
    const id = parseFindingId(String(request.params['id']))
    const before = id === undefined ? undefined : await findFinding(tx, id)
    if (before === undefined) throw new ProblemError('resource-not-found')
    if (!(await resolveFindingByIdIfOpen(tx, before.id, { by: operator, note }))) {
      throw new ProblemError('finding-not-open')
    }
    const closed = (await findFinding(tx, before.id)) ?? before
    return { answer: showJson(presentFinding(closed)), details: { result: 'resolved', note } }
  },
})
