// Contracts of the endpoints for operators that concern operations.
import { admin } from '../server/route.ts'
import { listOperations } from './operations-get.ts'
import { getOperation } from './operations-get.ts'
import { resumeOperationEndpoint } from './operations-resume.ts'
import { resolveOperation } from './operations-resolve.ts'
import { dropResponse } from './idempotency-keys-drop-response.ts'
import { z } from 'zod'
import { operationViews } from '../../db/operators/lists/operation-conditions.ts'
import { resolveOperationBody } from './operations-resolve.ts'
import { noBody } from '../requests/body-fields.ts'
import {
  operationSchema,
  operationWithProposalSchema,
  operationWithResolutionSchema,
  operationWithTimelineSchema,
  resolutionProposalSchema,
} from './schema.ts'
import { EXAMPLE_KEY, listOf } from '../contracts/fields.ts'
import type { Endpoints } from '../contracts/contract.ts'
import { idFilter, idInPath, oneOf } from '../contracts/parameters.ts'

const filterText = (description: string, example: string) =>
  z
    .string()
    .meta({ description, examples: [example] })
    .optional()

const operationInPath = idInPath('op', 'The id of the operation, or its UUID.')

export const operationEndpoints: Endpoints = {
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
