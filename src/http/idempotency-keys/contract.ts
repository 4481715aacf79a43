// Contracts of the endpoints for idempotency keys.
import { EARLIER_USE_HEADERS } from '../contracts/response-headers.ts'
import { z } from 'zod'
import { flavors } from '../../domain/problems/flavor.ts'
import { anyMembers, EXAMPLE_KEY } from '../contracts/fields.ts'
import { cancelKeyBody } from './idempotency-keys-cancel.ts'
import { idempotencyKeyHeader } from '../contracts/parameters.ts'
import { idempotencyKeySchema } from './schema.ts'
import type { Contracts } from '../contracts/contract.ts'

const idempotencyPolicySchema = z
  .looseObject({
    flavor: z.enum(flavors).meta({
      description:
        'The form of errors and headers. `ietf` follows the IETF draft; `stripe` suits the SDKs of Stripe; `acp` is the Agentic Commerce Protocol.',
    }),
    key: anyMembers.meta({ description: 'The syntax of idempotency keys.' }),
    scope: z
      .string()
      .meta({ description: 'What a key is unique in. `tenant`: each tenant has its own keys.' }),
    retention_seconds: z.int().meta({
      description: 'How long a key, with its response, is kept after the final response.',
    }),
    retention_seconds_by_operation: z.record(z.string(), z.int()).meta({
      description: 'The same for each operation that has a retention of its own.',
    }),
    stored: anyMembers.meta({
      description:
        'Which answers are stored, and how they are replayed: with the original status and bytes, for `DELETE` as for `POST`. With a status of `final`, an error is stored if its problem is among `final_problems`.',
    }),
    member: anyMembers.meta({
      description:
        'The member that answers about a stored key have in their body, and whether all have it or those whose request prefers it.',
    }),
    first_sent: anyMembers.meta({
      description:
        'How a client says when it first sent a request, and the greatest age at which a request without a stored response is executed.',
    }),
    answers: anyMembers.meta({
      description:
        'For each situation, the status and the problem type of the answer, and whether to retry with the same key.',
    }),
  })
  .meta({ id: 'IdempotencyPolicy' })

const keyInPath = z.object({
  key: z
    .string()
    .meta({ description: 'The idempotency key, without quotes.', examples: [EXAMPLE_KEY] }),
})

export const keyContracts: Contracts = {
  'GET /v1/idempotency-keys/:key': {
    operationId: 'getIdempotencyKey',
    tag: 'Idempotency keys',
    summary: 'Retrieve an idempotency key',
    description:
      'Returns the operation that an idempotency key was used for, its status and its resource. Use it to find out what happened to a request whose response was lost, without sending the request again.',
    path: keyInPath,
    answers: {
      200: {
        description: 'The idempotency key.',
        schema: idempotencyKeySchema,
        headers: EARLIER_USE_HEADERS,
      },
    },
    problems: ['idempotency-key-expired'],
  },
  'POST /v1/idempotency-keys/:key/cancel': {
    operationId: 'cancelIdempotencyKey',
    tag: 'Idempotency keys',
    summary: 'Cancel an idempotency key',
    description:
      'For a client that lost the answer and wants out. If nothing was executed under the key, nothing ever will be: its final answer is `operation-canceled`, also for a request that arrives later. Otherwise the payment is canceled or, if it is captured, refunded, as soon as its operation has ended. It is safe to repeat, and needs no key of its own. `cancellation` shows what became of it. The API key needs the scope of refunds, because money may be returned.',
    path: keyInPath,
    headers: idempotencyKeyHeader.pick({ 'Request-Timestamp': true }),
    body: { schema: cancelKeyBody, mayOmit: true, example: {} },
    answers: {
      200: {
        description: 'The idempotency key. The cancellation has ended.',
        schema: idempotencyKeySchema,
        headers: EARLIER_USE_HEADERS,
      },
      202: {
        description: 'The idempotency key. The cancellation is in progress.',
        schema: idempotencyKeySchema,
        headers: ['Location', 'Retry-After', ...EARLIER_USE_HEADERS],
      },
    },
    problems: [
      'idempotency-key-expired',
      'operation-not-cancelable',
      'too-many-stored-keys',
      'card-number-refused',
      'secret-refused',
      'request-timestamp-missing',
      'request-timestamp-invalid',
      'request-too-old',
    ],
  },
  'GET /.well-known/idempotency-policy': {
    operationId: 'getIdempotencyPolicy',
    tag: 'Idempotency keys',
    summary: 'Retrieve the idempotency policy',
    description:
      'Returns, in machine-readable form, what clients can rely on: the syntax of keys, how long keys are kept, how errors are answered, and the limits of the service. No API key is needed.',
    answers: {
      200: { description: 'The policy of this service.', schema: idempotencyPolicySchema },
    },
  },
}
