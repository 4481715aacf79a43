// The contracts of the endpoints for operators.
import { z } from 'zod'
import { deadLetterQueues } from '../../db/queue/dead-letters.ts'
import { operationViews } from '../../db/operators/operation-overviews.ts'
import { findingStatuses } from '../../domain/operations/finding.ts'
import { redriveDeadLettersBody } from './dead-letters.ts'
import { requestReconciliationBody } from './reconciliations.ts'
import { resolveFindingBody } from './findings.ts'
import { resolveOperationBody } from './operations-resolve.ts'
import { noFields } from '../requests/body-fields.ts'
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

const operationInPath = idInPath('op', 'The operation.')
const nothing = { schema: noFields, mayOmit: true }

const operationContracts: Contracts = {
  'GET /admin/operations': {
    operationId: 'listOperations',
    tag: 'Operators',
    summary: 'List operations that are not completed, newest first',
    isList: true,
    query: z.object({
      status: oneOf(
        operationViews,
        'Only those in this status. `stuck`: nobody is at it any more. `dead`: its job is a dead letter.',
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
    summary: 'Read an operation and its timeline',
    path: operationInPath,
    answers: { 200: { description: 'The operation.', schema: operationWithTimelineSchema } },
  },
  'POST /admin/operations/:id/resume': {
    operationId: 'resumeOperation',
    tag: 'Operators',
    summary: 'Have an operation go on',
    description:
      'Does what `resume_would` says. What may have been charged is never charged again.',
    path: operationInPath,
    body: nothing,
    answers: { 202: { description: 'The operation as it is now.', schema: operationSchema } },
    problems: ['nothing-to-resume'],
  },
  'POST /admin/operations/:id/resolve': {
    operationId: 'resolveOperation',
    tag: 'Operators',
    summary: 'Say what became of an operation whose outcome is unknown',
    path: operationInPath,
    body: {
      schema: resolveOperationBody.meta({ id: 'ResolveOperation' }),
      example: { outcome: 'happened', provider_id: 'pi_3SZ0001', note: 'Seen in the dashboard.' },
    },
    answers: {
      200: {
        description: 'It did not happen: the operation, which its client may retry.',
        schema: operationSchema,
      },
      202: {
        description: 'It happened, and is looked up; or, with dual control, it is proposed.',
        schema: z.union([operationSchema, resolutionProposalSchema]),
      },
    },
    problems: ['operation-not-unknown', 'second-operator-needed'],
  },
  'DELETE /admin/idempotency-keys/:id/response': {
    operationId: 'dropStoredResponse',
    tag: 'Operators',
    summary: 'Drop a stored response that holds what it should not',
    path: operationInPath,
    body: nothing,
    answers: { 204: { description: 'It is dropped. The key stays used.' } },
    problems: ['operation-not-completed'],
  },
}

const deadLetterContracts: Contracts = {
  'GET /admin/dead-letters': {
    operationId: 'listDeadLetters',
    tag: 'Operators',
    summary: 'List jobs that are out of retries, newest first',
    isList: true,
    query: z.object({ queue: oneOf(deadLetterQueues, 'Only those of this queue.') }),
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
    summary: 'Have jobs that are out of retries tried again',
    body: {
      schema: redriveDeadLettersBody.meta({ id: 'RedriveDeadLetters' }),
      example: { queue: deadLetterQueues[0] },
    },
    answers: { 200: { description: 'What became of them.', schema: redriveSchema } },
  },
}

const reconciliationContracts: Contracts = {
  'POST /admin/reconciliations': {
    operationId: 'requestReconciliation',
    tag: 'Operators',
    summary: 'Have a window of time compared with the provider',
    body: {
      schema: requestReconciliationBody.meta({ id: 'RequestReconciliation' }),
      example: { from: '2026-01-30T00:00:00Z', to: '2026-01-31T00:00:00Z' },
    },
    answers: {
      202: {
        description: 'The comparison, or the one of this window that is under way.',
        schema: reconciliationSchema,
      },
    },
  },
  'GET /admin/reconciliations': {
    operationId: 'listReconciliations',
    tag: 'Operators',
    summary: 'List comparisons, newest first',
    isList: true,
    answers: {
      200: {
        description: 'A page of comparisons.',
        schema: listOf('ReconciliationList', reconciliationSchema),
      },
    },
  },
  'GET /admin/reconciliations/:id': {
    operationId: 'getReconciliation',
    tag: 'Operators',
    summary: 'Read a comparison and a page of its findings',
    path: idInPath('rec', 'The comparison.'),
    isList: true,
    answers: {
      200: { description: 'The comparison.', schema: reconciliationWithFindingsSchema },
    },
  },
  'GET /admin/findings': {
    operationId: 'listFindings',
    tag: 'Operators',
    summary: 'List findings, newest first',
    isList: true,
    query: z.object({
      status: oneOf(findingStatuses, 'Only those in this status.'),
      reconciliation: idFilter('rec', 'Only those of this comparison.'),
    }),
    answers: { 200: { description: 'A page of findings.', schema: findingListSchema } },
  },
  'POST /admin/findings/:id/resolve': {
    operationId: 'resolveFinding',
    tag: 'Operators',
    summary: 'Close a finding',
    path: idInPath('fnd', 'The finding.'),
    body: {
      schema: resolveFindingBody.meta({ id: 'ResolveFinding' }),
      example: { note: 'Refunded by hand.' },
    },
    answers: { 200: { description: 'The finding, closed.', schema: findingSchema } },
    problems: ['finding-not-open'],
  },
  'GET /admin/actions': {
    operationId: 'listActions',
    tag: 'Operators',
    summary: 'List what operators did, newest first',
    isList: true,
    query: z.object({
      actor: z.string().meta({ description: 'Only what this operator did.' }).optional(),
      subject: z.string().meta({ description: 'Only what was done to this.' }).optional(),
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
