// POST /admin/operations/:id/resolve: states the outcome of an operation with status `unknown`. A
// worker looks at the provider, and the answer is its verdict. A claim that cannot be verified
// needs the same request from two operators. With dual control, every claim does.
import { z } from 'zod'
import {
  findLastProposal,
  makeActionId,
  PROPOSAL,
  PROPOSAL_HOURS,
  RESOLUTION,
} from '../../db/operators/admin-actions.ts'
import type { Transaction } from '../../db/connection/client.ts'
import {
  lockIfUnknown,
  type OperationOverview,
} from '../../db/operators/lists/operation-overviews.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { showId } from '../../domain/resource-id.ts'
import {
  concernsRefund,
  resolveIfUnknown,
  type Resolution,
} from '../../recovery/resolve-operation.ts'
import { jsonType, type Answer } from '../responses/answer.ts'
import { textField } from '../requests/body-fields.ts'
import { adminCommand, type CommandResult } from './admin-commands.ts'
import {
  consequencesOfProposal,
  hasAnotherOperator,
  isUnverified,
  needsTwo,
} from './operations-doubt.ts'
import {
  findRequestedOperation,
  isInKeyWindow,
  namedOperation,
  showOperationId,
} from './operations-show.ts'
import { answerVerdict } from './operations-verdict.ts'
import type { ApiParts } from '../endpoint.ts'

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
    unverified: z
      .boolean()
      .optional()
      .describe(
        'Whether to act on the claim even if the look-up at the provider fails. This needs the same request of a second operator, and is refused after the time for which the provider remembers its keys.',
      ),
  }),
])

export const resolveOperation = adminCommand({
  action: RESOLUTION,
  subject: namedOperation,
  body: resolveOperationBody,
  async work(parts, tx, { request, body, operator }) {
    const operation = await findRequestedOperation(tx, request)
    // The lock keeps other operators and the outcome resolver from resolving it meanwhile.
    const unknownAt = await lockIfUnknown(tx, operation)
    if (unknownAt === undefined) throw new ProblemError('operation-not-unknown')
    refuseOtherKind(operation, body)
    if (isUnverified(body) && !isInKeyWindow(parts, operation)) {
      throw new ProblemError('key-window-passed')
    }
    let proposer: string | undefined
    if (needsTwo(parts, isUnverified(body))) {
      proposer = await findProposer(tx, operation, { body, operator, unknownAt })
      if (proposer === undefined) return propose(parts, operation, body, operator)
    }
    const by = proposer === undefined ? operator : `${proposer} and ${operator}`
    const entry = await makeActionId(tx)
    const claim = showId('act', entry)
    if (!(await resolveIfUnknown(tx, operation, body, { by, claim }))) {
      throw new ProblemError('operation-not-unknown')
    }
    const resolution = { result: 'claimed', claim, resolution: body }
    return {
      answer: () => answerVerdict(parts, request, operation, claim),
      details: { ...resolution, proposed_by: proposer ?? null },
      entry,
    }
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

/** @throws ProblemError second-operator-needed when there is no other operator. */
function propose(
  parts: ApiParts,
  operation: OperationOverview,
  body: Resolution,
  operator: string,
): CommandResult {
  if (!hasAnotherOperator(parts, operator)) {
    const detail = 'ADMIN_API_KEY has only one operator, besides viewers.'
    throw new ProblemError('second-operator-needed', { detail })
  }
  return {
    action: PROPOSAL,
    details: { result: 'proposed', proposed: body },
    answer: showProposal(parts, operation, body, operator),
  }
}

function showProposal(
  parts: ApiParts,
  operation: OperationOverview,
  body: Resolution,
  operator: string,
): Answer {
  const proposal = {
    object: 'resolution_proposal',
    operation: showOperationId(operation.id),
    proposed_by: operator,
    proposed: body,
    needed: `Another operator must send the same body within ${PROPOSAL_HOURS} hours. Until then nothing changes.`,
    consequences: consequencesOfProposal(parts, operation, body),
  }
  return { status: 202, headers: jsonType, body: JSON.stringify(proposal) }
}
