// POST /admin/operations/:id/resolve: records the outcome of an operation with status `unknown`.
// With dual control it needs the same request of two operators.
import { z } from 'zod'
import { findLastProposal, PROPOSAL, PROPOSAL_HOURS } from '../../db/operators/admin-actions.ts'
import type { Transaction } from '../../db/connection/client.ts'
import { lockIfUnknown, type OperationOverview } from '../../db/operators/operation-overviews.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import {
  concernsRefund,
  resolveIfUnknown,
  type Resolution,
} from '../../recovery/resolve-operation.ts'
import { jsonType, type Answer } from '../responses/answer.ts'
import { textField } from '../requests/body-fields.ts'
import { adminCommand, type CommandResult } from './admin-commands.ts'
import { findRequestedOperation, namedOperation } from './operations-find.ts'
import { showOperation, showOperationId } from './operations-show.ts'

export const resolveOperationBody = z.discriminatedUnion('outcome', [
  z.strictObject({
    outcome: z.literal('happened'),
    provider_id: z
      .string()
      .regex(/^(pi|re|pyr)_[A-Za-z0-9_]{1,200}$/, 'must be the id of a payment intent or a refund')
      .describe(
        "The provider's id of the payment intent or refund. A worker looks it up and completes the operation with it.",
      ),
    note: textField({ min: 1, max: 500 }).describe(
      'How you know that it happened. It is stored in the audit trail.',
    ),
  }),
  z.strictObject({
    outcome: z.literal('did_not_happen'),
    proof: textField({ min: 10, max: 500 }).describe(
      'What proves that it did not happen. It is stored in the audit trail.',
    ),
  }),
])

export const resolveOperation = adminCommand({
  action: 'operation.resolve',
  subject: namedOperation,
  body: resolveOperationBody,
  async work(parts, tx, { request, body, operator }) {
    const operation = await findRequestedOperation(tx, request)
    // The lock keeps other operators and the outcome resolver from resolving it meanwhile.
    const unknownAt = await lockIfUnknown(tx, operation)
    if (unknownAt === undefined) throw new ProblemError('operation-not-unknown')
    refuseOtherKind(operation, body)
    const proposer = parts.settings.ADMIN_DUAL_CONTROL
      ? await findProposer(tx, operation, { body, operator, unknownAt })
      : undefined
    if (parts.settings.ADMIN_DUAL_CONTROL && proposer === undefined) {
      return propose(operation, body, operator)
    }
    const by = proposer === undefined ? operator : `${proposer} and ${operator}`
    if (!(await resolveIfUnknown(tx, operation, body, by))) {
      throw new ProblemError('operation-not-unknown')
    }
    const now = await findRequestedOperation(tx, request)
    const details = { result: 'resolved', resolution: body, proposed_by: proposer ?? null }
    return { answer: showOperation(parts, now, 202), details }
  },
})

/**
 * A refund is resolved by the id of a refund, every other operation by the id of a payment intent.
 */
function refuseOtherKind(operation: OperationOverview, resolution: Resolution): void {
  if (resolution.outcome !== 'happened') return
  const namesPayment = resolution.provider_id.startsWith('pi_')
  if (namesPayment !== concernsRefund(operation)) return
  const detail = `Must be the id of a ${concernsRefund(operation) ? 'refund' : 'payment intent'}`
  throw new ProblemError('invalid-field', {
    detail: `/provider_id: ${detail}`,
    errors: [{ pointer: '/provider_id', detail }],
  })
}

/**
 * Returns the operator who proposed exactly this resolution last. Returns undefined when there is
 * no proposal, or when the last one differs.
 *
 * @throws ProblemError second-operator-needed when the proposal is by the same operator.
 */
async function findProposer(
  tx: Transaction,
  { id }: OperationOverview,
  { body, operator, unknownAt }: { body: Resolution; operator: string; unknownAt: Date },
): Promise<string | undefined> {
  const proposal = { proposed: { ...body }, since: unknownAt }
  const last = await findLastProposal(tx, showOperationId(id), proposal)
  if (last?.same !== true) return undefined
  if (last.actor === operator) throw new ProblemError('second-operator-needed')
  return last.actor
}

function propose({ id }: OperationOverview, body: Resolution, operator: string): CommandResult {
  return {
    action: PROPOSAL,
    details: { result: 'proposed', proposed: body },
    answer: showProposal(id, body, operator),
  }
}

function showProposal(id: string, body: Resolution, operator: string): Answer {
  const proposal = {
    object: 'resolution_proposal',
    operation: showOperationId(id),
    proposed_by: operator,
    proposed: body,
    needed: `Another operator must send the same body within ${PROPOSAL_HOURS} hours.`,
  }
  return { status: 202, headers: jsonType, body: JSON.stringify(proposal) }
}
