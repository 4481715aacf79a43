// Contracts of the endpoints for operators, except those for tenants and API keys.
import { admin } from '../server/route.ts'
import { listDeadLettersEndpoint } from './dead-letters.ts'
import { redriveDeadLetters } from './dead-letters.ts'
import { requestReconciliationEndpoint } from './reconciliations.ts'
import { listReconciliations } from './reconciliations.ts'
import { getReconciliation } from './reconciliations.ts'
import { listFindingsEndpoint } from './findings.ts'
import { getFindingEndpoint } from './findings.ts'
import { resolveFinding } from './findings.ts'
import { listActions } from './actions-get.ts'
import { z } from 'zod'
import { deadLetterQueues } from '../../db/queue/dead-letters.ts'
import { findingStatuses } from '../../domain/operations/finding.ts'
import { redriveDeadLettersBody } from './dead-letters.ts'
import { requestReconciliationBody } from './reconciliations.ts'
import { resolveFindingBody } from './findings.ts'
import { operationEndpoints } from './operations-contract.ts'
import {
  findingListSchema,
  findingSchema,
  reconciliationSchema,
  reconciliationWithFindingsSchema,
} from './reconciliations-schema.ts'
import { adminActionSchema, deadLetterSchema, redriveSchema } from './schema.ts'
import { listOf } from '../contracts/fields.ts'
import type { Endpoints } from '../contracts/contract.ts'
import { idFilter, idInPath, oneOf } from '../contracts/parameters.ts'

const deadLetterEndpoints: Endpoints = {
  'GET /admin/dead-letters': {
    serve: admin(listDeadLettersEndpoint),
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
    serve: admin(redriveDeadLetters),
    operationId: 'redriveDeadLetters',
    tag: 'Operators',
    summary: 'Redrive dead letters',
    description:
      'Retries jobs that used up their retries. Each dead letter is handled in its own transaction, so some may be redriven while others are kept. A payment or refund that has failed is made now, although its client was told that it failed.',
    body: {
      schema: redriveDeadLettersBody.meta({ id: 'RedriveDeadLetters' }),
      example: { queue: deadLetterQueues[0] },
    },
    answers: { 200: { description: 'The result for the dead letters.', schema: redriveSchema } },
  },
}

const reconciliationEndpoints: Endpoints = {
  'POST /admin/reconciliations': {
    serve: admin(requestReconciliationEndpoint),
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
    serve: admin(listReconciliations),
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
    serve: admin(getReconciliation),
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
    serve: admin(listFindingsEndpoint),
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
  'GET /admin/findings/:id': {
    serve: admin(getFindingEndpoint),
    operationId: 'getFinding',
    tag: 'Operators',
    summary: 'Retrieve a finding',
    description: 'Returns a finding with its evidence: our record beside that of the provider.',
    path: idInPath('fnd', 'The id of the finding.'),
    answers: { 200: { description: 'The finding.', schema: findingSchema } },
  },
  'POST /admin/findings/:id/resolve': {
    serve: admin(resolveFinding),
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
    serve: admin(listActions),
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

export const adminEndpoints: Endpoints = {
  ...operationEndpoints,
  ...deadLetterEndpoints,
  ...reconciliationEndpoints,
}
