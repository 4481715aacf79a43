// The endpoints below /admin/operations: operations of all tenants, and what operators do about them.
import { dropResponses } from '../../db/idempotency/dropped-responses.ts'
import { listPhaseRuns } from '../../db/operations/phase-runs.ts'
import { RESOLUTION } from '../../db/operators/admin-actions.ts'
import { StaleResourceError } from '../../db/payments/payments.ts'
import type { Transaction } from '../../db/connection/client.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { resumeOperation, type ResumeResult } from '../../recovery/sweeper.ts'
import { z } from 'zod'
import type { Endpoints } from '../contracts/contract.ts'
import { EXAMPLE_KEY, listOf, type Json } from '../contracts/fields.ts'
import { byId, byName, byText } from '../contracts/parameters.ts'
import { withinStoreTimeout, type ServiceParts } from '../endpoint.ts'
import { keyFilter, providerIdFilter } from '../requests/list-query.ts'
import { presentPhaseRun } from '../resources/payments.ts'
import { readOne, readList, findRequested } from '../contracts/reads.ts'
import {
  findLastResolution,
  listOpenProposals,
  PROPOSAL_HOURS,
  type OpenProposal,
} from './claims.ts'
import { adminCommand } from './commands.ts'
import {
  operation,
  operationWithProposalSchema,
  operationWithResolutionSchema,
  operationWithTimelineSchema,
  presentOperation,
  resolutionProposalSchema,
} from './operation.ts'
import {
  listOperationOverviews,
  operationViews,
  type OperationOverview,
} from './operations-search.ts'
import {
  presentClaims,
  presentConsequences,
  presentResolution,
  resolveOperation,
  resolveOperationBody,
} from './resolutions.ts'

interface WithProposals extends OperationOverview {
  readonly proposals: readonly OpenProposal[]
}

const listed = {
  ...operation,
  present: (found: WithProposals, parts: ServiceParts) => ({
    ...presentOperation(found, parts),
    proposal: presentProposal(found, parts),
  }),
}

async function showWithTimeline(
  parts: ServiceParts,
  found: OperationOverview,
  operator: string,
): Promise<Json> {
  const { sql } = parts.store
  const reading = Promise.all([
    readTimeline(parts, found),
    findLastResolution(sql, found.id),
    listOpenProposals(sql, new Date()),
  ])
  const [timeline, resolution, proposals] = await withinStoreTimeout(parts, reading)
  return {
    ...listed.present({ ...found, proposals }, parts),
    claims: presentClaims(parts, found, operator),
    resolution: presentResolution(resolution),
    timeline,
  }
}

function presentProposal({ proposals, ...found }: WithProposals, parts: ServiceParts): Json | null {
  const { id, status, unknownAt } = found
  const proposal = proposals.find(({ operationId }) => operationId === id)
  const isOpen = status === 'unknown' && unknownAt !== null
  if (proposal === undefined || !isOpen || proposal.proposedAt < unknownAt) return null
  const { actor, proposed, proposedAt } = proposal
  return {
    proposed_by: actor,
    proposed_at: proposedAt,
    expires_at: new Date(proposedAt.getTime() + PROPOSAL_HOURS * 3_600_000),
    proposed,
    consequences: presentConsequences(parts, found, proposed),
  }
}

async function readTimeline(
  { store }: ServiceParts,
  { tenantId, paymentId, id }: OperationOverview,
): Promise<Json[]> {
  if (paymentId === null) return []
  const runs = await listPhaseRuns(store, tenantId, paymentId)
  return runs.filter(({ operationId }) => operationId === id).map(presentPhaseRun)
}

async function resume(
  tx: Transaction,
  parts: ServiceParts,
  found: OperationOverview,
): Promise<ResumeResult> {
  try {
    const result = await resumeOperation(tx, parts, found)
    if (result !== 'nothing') return result
  } catch (error) {
    if (!(error instanceof StaleResourceError)) throw error
    const detail = 'The payment has changed since the operation stopped.'
    throw new ProblemError('nothing-to-resume', { detail, cause: error })
  }
  throw new ProblemError('nothing-to-resume')
}

export const operatedEndpoints: Endpoints = {
  'GET /admin/operations': readList({
    operationId: 'listOperations',
    summary: 'List operations',
    description:
      'Returns the operations of all tenants that are not completed, newest first. Use it to find operations that need attention. With `payment`, `idempotency_key` or `provider_id`, and without `status`, it returns the completed ones, too. Several filters must all match.',
    of: listed,
    filters: {
      status: byName(
        operationViews,
        'unknown, pending, processing, failed_retryable, stuck, dead, proposed or resolved',
        'Only return operations with this status. `stuck`: operations in progress that no worker works on any more. `dead`: operations that the service does not continue by itself, because they are `failed_retryable` or their unknown outcome is no longer looked up. `proposed`: unknown outcomes about which a proposal waits for a second operator. `resolved`: operations whose outcome was unknown, and was resolved in the last 24 hours; they are found in the 500 newest lines of timelines with a later lease epoch.',
      ),
      tenant: byId('tnt', 'tenant', 'Only return operations of this tenant.'),
      payment: byId(
        'pay',
        'payment',
        'Only return the operations on this payment and its refunds.',
      ),
      idempotency_key: byText(
        keyFilter,
        'Only return operations with this idempotency key of a client, without the quotes of its header.',
        EXAMPLE_KEY,
      ),
      provider_id: byText(
        providerIdFilter,
        "Only return the operations on the payment, the operations of the refund, or those that follow the dispute, with this id of the provider's. An id that the service has not recorded finds nothing: then use the metadata `atomic_payment` of the provider's object.",
        'pi_3SZ0001',
      ),
    },
    async read(
      { store },
      page,
      { status: view, idempotency_key: key, provider_id: providerId, ...others },
    ) {
      const proposals = await listOpenProposals(store.sql, new Date())
      const filter = { view, key, providerId, proposals, ...others }
      const found = await listOperationOverviews(store.sql, filter, page)
      return found && { ...found, items: found.items.map((one) => ({ ...one, proposals })) }
    },
    answer: 'A page of operations.',
    schema: listOf('OperationList', operationWithProposalSchema),
  }),
  'GET /admin/operations/:id': readOne({
    operationId: 'getOperation',
    summary: 'Retrieve an operation',
    description: 'Returns an operation together with its timeline: every attempt of every step.',
    of: operation,
    show: showWithTimeline,
    answer: 'The operation with its timeline.',
    schema: operationWithTimelineSchema,
  }),
  'POST /admin/operations/:id/resume': adminCommand({
    operationId: 'resumeOperation',
    summary: 'Resume an operation',
    description:
      'Resumes an operation that has stopped. The `resume_would` field of the operation states in advance what this does. A charge that may already have been made is never made a second time.',
    action: 'operation.resume',
    on: operation,
    async work({ parts, tx, request, found }) {
      const result = await resume(tx, parts, found)
      const now = await findRequested(operation, tx, request)
      return { answer: presentOperation(now, parts), details: { result, from: found.status } }
    },
    after: (parts) => parts.wake.workers(),
    answers: {
      202: { description: 'The operation in its current state.', schema: operation.schema },
    },
    problems: ['nothing-to-resume'],
  }),
  'POST /admin/operations/:id/resolve': adminCommand({
    operationId: 'resolveOperation',
    summary: 'Resolve an unknown outcome',
    description:
      'States what happened to an operation with status `unknown`. A worker then looks at the provider, and the answer is its verdict. If it happened, send the provider\'s id: the operation is completed if the provider shows it. If it did not happen, send the proof: the client may retry if the lookup finds nothing. What the lookup finds is recorded, even if it contradicts the claim. If the lookup fails, the claim is not acted on, unless you send `"unverified": true` within the time for which the provider remembers its keys. That needs two operators: the first request only makes a proposal, and a second operator must send the same body. With dual control, every request needs two. `GET /admin/actions` shows the claim and the verdict.',
    action: RESOLUTION,
    on: operation,
    work: resolveOperation,
    body: {
      schema: resolveOperationBody.meta({ id: 'ResolveOperation' }),
      example: { outcome: 'happened', provider_id: 'pi_3SZ0001', note: 'Seen in the dashboard.' },
    },
    answers: {
      200: {
        description:
          'The claim is acted on: `resolution` has the verdict. After a verified `happened` the operation may still be on its way to its response.',
        schema: operationWithResolutionSchema,
      },
      202: {
        description:
          'The lookup is not finished: read the `resolution` of the operation later. Or the claim is a proposal that needs a second operator.',
        schema: z.union([operationWithResolutionSchema, resolutionProposalSchema]),
      },
    },
    problems: [
      'operation-not-unknown',
      'resolution-contradicted',
      'resolution-unverifiable',
      'key-window-passed',
      'second-operator-needed',
    ],
  }),
  'DELETE /admin/idempotency-keys/:id/response': adminCommand({
    operationId: 'dropStoredResponse',
    summary: 'Drop a stored response',
    description:
      'Deletes the stored response of a completed operation, for example because it contains personal data that must be erased. The idempotency key stays used: a retry is answered with the problem `response-dropped` and executes nothing.',
    action: 'response.drop',
    on: operation,
    async work({ parts: { settings }, tx, found }) {
      if (found.status !== 'completed') throw new ProblemError('operation-not-completed')
      const dropped = await dropResponses(tx, [found], settings.IDEMPOTENCY_FLAVOR)
      return { details: { result: dropped === 1 ? 'dropped' : 'already_dropped' } }
    },
    answers: { 204: { description: 'The response is dropped.' } },
    problems: ['operation-not-completed'],
  }),
}
