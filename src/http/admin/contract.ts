// Contracts of the endpoints for operators, except those for tenants and API keys.
import { z } from 'zod'
import { deadLetterQueues } from '../../db/queue/dead-letters.ts'
import { operationViews } from '../../db/operators/operation-overviews.ts'
import { findingStatuses } from '../../domain/operations/finding.ts'
import { redriveDeadLettersBody } from './dead-letters.ts'
import { requestReconciliationBody } from './reconciliations.ts'
import { resolveFindingBody } from './findings.ts'
import { resolveOperationBody } from './operations-resolve.ts'
import { noBody } from '../requests/body-fields.ts'
import {
  adminActionSchema,
  deadLetterSchema,
  findingListSchema,
  findingSchema,
  operationSchema,
  operationWithTimelineSchema,
  reconciliationSchema,
  reconciliationWithFindingsSchema,
  redriveSchema,
  resolutionProposalSchema,
} from './schema.ts'
import { listOf } from '../contracts/fields.ts'
import type { Contracts } from '../contracts/contract.ts'
import { idFilter, idInPath, oneOf } from '../contracts/parameters.ts'

const operationInPath = idInPath('op', 'The id of the operation.')

const operationContracts: Contracts = {
  'GET /admin/operations': {
    operationId: 'listOperations',
    tag: 'Operators',
    summary: 'List operations',
    description:
      'Returns the operations of all tenants that are not completed, newest first. Use it to find operations that need attention.',
    isList: true,
    query: z.object({
      status: oneOf(
        operationViews,
        'Only return operations with this status. `stuck`: operations in progress that no worker works on any more. `dead`: operations that the service does not continue by itself, because they are `failed_retryable` or their unknown outcome is no longer looked up.',
      ),
    }),
    answers: {
      200: {
        description: 'A page of operations.',
        schema: listOf('OperationList', operationSchema),
      },
    },
  },
  'GET /admin/operations/:id': {
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
    operationId: 'resolveOperation',
    tag: 'Operators',
    summary: 'Resolve an unknown outcome',
    description:
      "Records what happened to an operation with status `unknown` when the service cannot find out by itself. If it happened, send the provider's id: a worker looks the object up and completes the operation. If it did not happen, send the proof: the client may then retry. With dual control, the first request only makes a proposal, and a second operator must send the same body to apply it.",
    path: operationInPath,
    body: {
      schema: resolveOperationBody.meta({ id: 'ResolveOperation' }),
      example: { outcome: 'happened', provider_id: 'pi_3SZ0001', note: 'Seen in the dashboard.' },
    },
    answers: {
      200: {
        description: 'The operation did not happen. Its client may retry it.',
        schema: operationSchema,
      },
      202: {
        description:
          'The operation happened, and a worker looks it up. With dual control: the resolution is proposed.',
        schema: z.union([operationSchema, resolutionProposalSchema]),
      },
    },
    problems: ['operation-not-unknown', 'second-operator-needed'],
  },
  'DELETE /admin/idempotency-keys/:id/response': {
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

const deadLetterContracts: Contracts = {
  'GET /admin/dead-letters': {
    operationId: 'listDeadLetters',
    tag: 'Operators',
    summary: 'List dead letters',
    description: 'Returns the jobs that used up their retries, newest first.',
    isList: true,
    query: z.object({
      queue: oneOf(deadLetterQueues, 'Only return the dead letters of this queue.'),
    }),
    answers: {
      200: {
        description: 'A page of dead letters.',
        schema: listOf('DeadLetterList', deadLetterSchema),
      },
    },
  },
  'POST /admin/dead-letters/redrive': {
    operationId: 'redriveDeadLetters',
    tag: 'Operators',
    summary: 'Redrive dead letters',
    description:
      'Retries jobs that used up their retries. Each dead letter is handled in its own transaction, so some may be redriven while others are kept.',
    body: {
      schema: redriveDeadLettersBody.meta({ id: 'RedriveDeadLetters' }),
      example: { queue: deadLetterQueues[0] },
    },
    answers: { 200: { description: 'The result for the dead letters.', schema: redriveSchema } },
  },
}

const reconciliationContracts: Contracts = {
  'POST /admin/reconciliations': {
    operationId: 'requestReconciliation',
    tag: 'Operators',
    summary: 'Request a reconciliation',
    description:
      "Compares our records of a period of time with the provider's. A worker does the comparison, repairs what it can and opens a finding for each remaining difference. If a reconciliation of the same period is in progress, that one is returned.",
    body: {
      schema: requestReconciliationBody.meta({ id: 'RequestReconciliation' }),
      example: { from: '2026-01-30T00:00:00Z', to: '2026-01-31T00:00:00Z' },
    },
    answers: {
      202: {
        description:
          'The reconciliation, or the one of the same period that is already in progress.',
        schema: reconciliationSchema,
      },
    },
  },
  'GET /admin/reconciliations': {
    operationId: 'listReconciliations',
    tag: 'Operators',
    summary: 'List reconciliations',
    description: 'Returns the reconciliations, newest first.',
    isList: true,
    answers: {
      200: {
        description: 'A page of reconciliations.',
        schema: listOf('ReconciliationList', reconciliationSchema),
      },
    },
  },
  'GET /admin/reconciliations/:id': {
    operationId: 'getReconciliation',
    tag: 'Operators',
    summary: 'Retrieve a reconciliation',
    description:
      'Returns a reconciliation with a page of its findings. The query parameters apply to the findings.',
    path: idInPath('rec', 'The id of the reconciliation.'),
    isList: true,
    answers: {
      200: {
        description: 'The reconciliation with a page of its findings.',
        schema: reconciliationWithFindingsSchema,
      },
    },
  },
  'GET /admin/findings': {
    operationId: 'listFindings',
    tag: 'Operators',
    summary: 'List findings',
    description:
      'Returns the problems that the service could not repair by itself and that need a person, newest first.',
    isList: true,
    query: z.object({
      status: oneOf(findingStatuses, 'Only return findings with this status.'),
      reconciliation: idFilter('rec', 'Only return the findings of this reconciliation.'),
    }),
    answers: { 200: { description: 'A page of findings.', schema: findingListSchema } },
  },
  'POST /admin/findings/:id/resolve': {
    operationId: 'resolveFinding',
    tag: 'Operators',
    summary: 'Resolve a finding',
    description: 'Closes a finding after a person has dealt with it, and stores a note about it.',
    path: idInPath('fnd', 'The id of the finding.'),
    body: {
      schema: resolveFindingBody.meta({ id: 'ResolveFinding' }),
      example: { note: 'Refunded by hand.' },
    },
    answers: { 200: { description: 'The resolved finding.', schema: findingSchema } },
    problems: ['finding-not-open'],
  },
  'GET /admin/actions': {
    operationId: 'listActions',
    tag: 'Operators',
    summary: 'List the audit trail',
    description:
      'Returns what operators did, newest first. Refused requests are included, with the type of the problem.',
    isList: true,
    query: z.object({
      actor: z
        .string()
        .meta({ description: 'Only return the actions of the operator with this name.' })
        .optional(),
      subject: z
        .string()
        .meta({ description: 'Only return actions on the resource with this id.' })
        .optional(),
    }),
    answers: {
      200: {
        description: 'A page of the audit trail.',
        schema: listOf('AdminActionList', adminActionSchema),
      },
    },
  },
}

export const adminContracts: Contracts = {
  ...operationContracts,
  ...deadLetterContracts,
  ...reconciliationContracts,
}
