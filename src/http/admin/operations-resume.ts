// POST /admin/operations/:id/resume: resumes an operation that has stopped.
import type { Transaction } from '../../db/connection/client.ts'
import type { OperationOverview } from '../../db/operators/lists/operation-overviews.ts'
import { StaleResourceError } from '../../db/payments/payments.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { resumeOperation, type ResumeResult } from '../../recovery/resume-operation.ts'
import { noFields } from '../requests/body-fields.ts'
import { adminCommand } from './admin-commands.ts'
import type { ApiParts } from '../endpoint.ts'
import { findRequestedOperation, namedOperation, showOperation } from './operations-show.ts'

export const resumeOperationEndpoint = adminCommand({
  action: 'operation.resume',
  subject: namedOperation,
  body: noFields,
  async work(parts, tx, { request }) {
    const before = await findRequestedOperation(tx, request)
    const result = await resume(tx, parts, before)
    const now = await findRequestedOperation(tx, request)
    return { answer: showOperation(parts, now, 202), details: { result, from: before.status } }
  },
  after: (parts) => parts.wakeWorkers(),
})

async function resume(
  tx: Transaction,
  parts: ApiParts,
  operation: OperationOverview,
): Promise<ResumeResult> {
  try {
    const result = await resumeOperation(tx, parts, operation)
    if (result !== 'nothing') return result
  } catch (error) {
    if (!(error instanceof StaleResourceError)) throw error
    const detail = 'The payment has changed since the operation stopped.'
    throw new ProblemError('nothing-to-resume', { detail, cause: error })
  }
  throw new ProblemError('nothing-to-resume')
}
