// DELETE /admin/idempotency-keys/:id/response: deletes the stored response of a completed
// operation.
import {
  advanceAnswerEpoch,
  dropResponseIfCompleted,
} from '../../db/idempotency/dropped-responses.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { noFields } from '../requests/body-fields.ts'
import { adminCommand } from './admin-commands.ts'
import { findRequestedOperation, namedOperation } from './operations-show.ts'

export const dropResponse = adminCommand({
  action: 'response.drop',
  subject: namedOperation,
  body: noFields,
  async work({ settings }, tx, { request }) {
    const operation = await findRequestedOperation(tx, request)
    const result = await dropResponseIfCompleted(tx, operation, settings.IDEMPOTENCY_FLAVOR)
    if (result === 'not_completed') throw new ProblemError('operation-not-completed')
    await advanceAnswerEpoch(tx)
    return { answer: { status: 204, body: '' }, details: { result } }
  },
})
