// The endpoints below /admin/operations: operations of all tenants, and what operators do about them.
import {
  listOperationOverviews,
  type OperationOverview,
} from '../../db/operators/lists/operation-overviews.ts'
import { operationViews } from '../../db/operators/lists/operation-conditions.ts'
import { type AdminEndpoint, withinStoreTimeout, type ApiParts } from '../endpoint.ts'
import {
  keyFilter,
  oneOfFilter,
  paymentFilter,
  providerIdFilter,
  tenantFilter,
  parseFilteredQuery,
} from '../requests/list-query.ts'
import { showPage, showJson } from '../responses/answer.ts'
import {
  findRequestedOperation,
  parseOperationId,
  presentOperation,
  showOperationId,
  namedOperation,
  showOperation,
  operationSchema,
  operationWithProposalSchema,
  operationWithResolutionSchema,
  operationWithTimelineSchema,
  resolutionProposalSchema,
} from './operation.ts'
import {
  consequencesOfProposal,
  presentClaims,
  presentResolution,
  resolveOperation,
  resolveOperationBody,
} from './resolutions.ts'
import {
  findLastResolution,
  listOpenProposals,
  PROPOSAL_HOURS,
  type OpenProposal,
} from '../../db/operators/admin-actions.ts'
import { listPhaseRuns } from '../../db/operations/phase-runs.ts'
import { presentPhaseRun } from '../resources/payments.ts'
import { providerNames } from '../../provider/adapters.ts'
import type { Transaction } from '../../db/connection/client.ts'
import { StaleResourceError } from '../../db/payments/payments.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { resumeOperation, type ResumeResult } from '../../recovery/resume-operation.ts'
import { noFields, noBody } from '../requests/body-fields.ts'
import { adminCommand } from './admin-commands.ts'
import {
  advanceAnswerEpoch,
  dropResponseIfCompleted,
} from '../../db/idempotency/dropped-responses.ts'
import { admin } from '../server/route.ts'
import { z } from 'zod'
import { EXAMPLE_KEY, listOf } from '../contracts/fields.ts'
import type { Endpoints } from '../contracts/contract.ts'
import { idFilter, idInPath, oneOf } from '../contracts/parameters.ts'

const knownFilters = {
  status: oneOfFilter(
    'unknown, pending, processing, failed_retryable, stuck, dead, proposed or resolved',
    operationViews,
  ),
  tenant: tenantFilter,
  payment: paymentFilter,
  idempotency_key: keyFilter,
  provider_id: providerIdFilter,
}

const listOperations: AdminEndpoint = async (parts, request) => {
  const { page, filters } = parseFilteredQuery(request.query, parseOperationId, knownFilters)
  const { status: view, tenant, payment, idempotency_key: key, provider_id: id } = filters
  const providerObject = id === undefined ? undefined : { providers: providerNames, id }
  const proposals = await withinStoreTimeout(parts, readProposals(parts))
  const filter = { view, tenant, payment, key, providerObject, proposals }
  const lookup = listOperationOverviews(parts.store.sql, filter, page)
  return showPage(await withinStoreTimeout(parts, lookup), (operation) => ({
    ...presentOperation(parts, operation),
    proposal: presentProposal(parts, operation, proposals),
  }))
}

const getOperation: AdminEndpoint = async (parts, request, operator) => {
  const lookup = findRequestedOperation(parts.store.sql, request)
  const operation = await withinStoreTimeout(parts, lookup)
  const timeline = await withinStoreTimeout(parts, readTimeline(parts, operation))
  const subject = showOperationId(operation.id)
  const claimed = await withinStoreTimeout(parts, findLastResolution(parts.store.sql, subject))
  const resolution = presentResolution(claimed)
  const proposals = await withinStoreTimeout(parts, readProposals(parts))
  const proposal = presentProposal(parts, operation, proposals)
  const claims = presentClaims(parts, operation, operator)
  return showJson({ ...presentOperation(parts, operation), proposal, claims, resolution, timeline })
}

const readProposals = async ({ store }: ApiParts): Promise<OpenProposal[]> =>
  await listOpenProposals(store.sql, new Date())

function presentProposal(
  parts: ApiParts,
  operation: OperationOverview,
  proposals: readonly OpenProposal[],
): Record<string, unknown> | null {
  const { id, status, unknownAt } = operation
  const found = proposals.find(({ operationId }) => operationId === id)
  const isOpen = status === 'unknown' && unknownAt !== null
  if (found === undefined || !isOpen || found.proposedAt < unknownAt) return null
  const { actor, proposed, proposedAt } = found
  const expiresAt = new Date(proposedAt.getTime() + PROPOSAL_HOURS * 3_600_000)
  const consequences = consequencesOfProposal(parts, operation, proposed)
  return {
    proposed_by: actor,
    proposed_at: proposedAt,
    expires_at: expiresAt,
    proposed,
    consequences,
  }
}

async function readTimeline(
  { store }: ApiParts,
  { tenantId, paymentId, id }: OperationOverview,
): Promise<Record<string, unknown>[]> {
  if (paymentId === null) return []
  const runs = await listPhaseRuns(store, tenantId, paymentId)
  return runs.filter(({ operationId }) => operationId === id).map(presentPhaseRun)
}

const resumeOperationEndpoint = adminCommand({
  action: 'operation.resume',
  subject: namedOperation,
  body: noFields,
  async work(parts, tx, { request }) {
    const before = await findRequestedOperation(tx, request)
    const result = await resume(tx, parts, before)
    const now = await findRequestedOperation(tx, request)
    return { answer: showOperation(parts, now), details: { result, from: before.status } }
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

const dropResponse = adminCommand({
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

const filterText = (description: string, example: string) =>
  z
    .string()
    .meta({ description, examples: [example] })
    .optional()

const operationInPath = idInPath('op', 'The id of the operation, or its UUID.')

export const operatedEndpoints: Endpoints = {
  'GET /admin/operations': {
    serve: admin(listOperations),
    operationId: 'listOperations',
    tag: 'Operators',
    summary: 'List operations',
    description:
      'Returns the operations of all tenants that are not completed, newest first. Use it to find operations that need attention. With `payment`, `idempotency_key` or `provider_id`, and without `status`, it returns the completed ones, too. Several filters must all match.',
    isList: true,
    query: z.object({
      status: oneOf(
        operationViews,
        'Only return operations with this status. `stuck`: operations in progress that no worker works on any more. `dead`: operations that the service does not continue by itself, because they are `failed_retryable` or their unknown outcome is no longer looked up. `proposed`: unknown outcomes about which a proposal waits for a second operator. `resolved`: operations whose outcome was unknown, and was resolved in the last 24 hours; they are found in the 500 newest lines of timelines with a later lease epoch.',
      ),
      tenant: idFilter('tnt', 'Only return operations of this tenant.'),
      payment: idFilter('pay', 'Only return the operations on this payment and its refunds.'),
      idempotency_key: filterText(
        'Only return operations with this idempotency key of a client, without the quotes of its header.',
        EXAMPLE_KEY,
      ),
      provider_id: filterText(
        "Only return the operations on the payment, the operations of the refund, or those that follow the dispute, with this id of the provider's. An id that the service has not recorded finds nothing: then use the metadata `atomic_payment` of the provider's object.",
        'pi_3SZ0001',
      ),
    }),
    answers: {
      200: {
        description: 'A page of operations.',
        schema: listOf('OperationList', operationWithProposalSchema),
      },
    },
  },
  'GET /admin/operations/:id': {
    serve: admin(getOperation),
    operationId: 'getOperation',
    tag: 'Operators',
    summary: 'Retrieve an operation',
    description: 'Returns an operation together with its timeline: every attempt of every step.',
    path: operationInPath,
    answers: {
      200: {
        description: 'The operation with its timeline.',
        schema: operationWithTimelineSchema,
      },
    },
  },
  'POST /admin/operations/:id/resume': {
    serve: admin(resumeOperationEndpoint),
    operationId: 'resumeOperation',
    tag: 'Operators',
    summary: 'Resume an operation',
    description:
      'Resumes an operation that has stopped. The `resume_would` field of the operation states in advance what this does. A charge that may already have been made is never made a second time.',
    path: operationInPath,
    body: noBody,
    answers: {
      202: { description: 'The operation in its current state.', schema: operationSchema },
    },
    problems: ['nothing-to-resume'],
  },
  'POST /admin/operations/:id/resolve': {
    serve: admin(resolveOperation),
    operationId: 'resolveOperation',
    tag: 'Operators',
    summary: 'Resolve an unknown outcome',
    description:
      'States what happened to an operation with status `unknown`. A worker then looks at the provider, and the answer is its verdict. If it happened, send the provider\'s id: the operation is completed if the provider shows it. If it did not happen, send the proof: the client may retry if the look-up finds nothing. What the look-up finds is recorded, even if it contradicts the claim. If the look-up fails, the claim is not acted on, unless you send `"unverified": true` within the time for which the provider remembers its keys. That needs two operators: the first request only makes a proposal, and a second operator must send the same body. With dual control, every request needs two. `GET /admin/actions` shows the claim and the verdict.',
    path: operationInPath,
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
          'The look-up is not finished: read the `resolution` of the operation later. Or the claim is a proposal that needs a second operator.',
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
  },
  'DELETE /admin/idempotency-keys/:id/response': {
    serve: admin(dropResponse),
    operationId: 'dropStoredResponse',
    tag: 'Operators',
    summary: 'Drop a stored response',
    description:
      'Deletes the stored response of a completed operation, for example because it contains personal data that must be erased. The idempotency key stays used: a retry is answered with the problem `response-dropped` and executes nothing.',
    path: operationInPath,
    body: noBody,
    answers: { 204: { description: 'The response is dropped.' } },
    problems: ['operation-not-completed'],
  },
}
