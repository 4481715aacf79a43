// Describes the JSON of idempotency keys for openapi.yaml.
import { z } from 'zod'
import { cancellationStatuses } from '../../domain/idempotency/cancellation.ts'
import { operationStatuses } from '../../domain/operations/operation.ts'
import { EXAMPLE_KEY, EXAMPLE_TIME, exampleId, idField, timeField } from '../contracts/fields.ts'

export const idempotencyKeySchema = z
  .object({
    object: z.literal('idempotency_key'),
    key: z.string().meta({ description: 'The idempotency key, without quotes.' }),
    operation: z.string().meta({ description: 'The operation that the key was used for.' }),
    status: z.enum(operationStatuses).meta({
      description:
        'The status of the operation. `pending` and `processing`: the operation is in progress. `completed`: the final response is stored, and retries replay it. `failed_retryable`: the operation stopped, and it is proved, or stated by operators, that its current step had no effect; a retry resumes it. `unknown`: the operation may have taken effect, and the service is looking up the outcome at the provider.',
    }),
    recovery_point: z
      .string()
      .meta({ description: 'The last step that was recorded; work resumes after it.' }),
    attempts: z.int().meta({ description: 'How many times work on the operation has started.' }),
    resource: z
      .union([
        z.object({ object: z.literal('payment'), id: idField('pay', 'The payment.') }),
        z.object({ object: z.literal('refund'), id: idField('re', 'The refund.') }),
      ])
      .nullable()
      .meta({
        description:
          'The payment or refund that the operation creates or changes. Null when the operation concerns no payment.',
      }),
    cancellation: z.enum(cancellationStatuses).nullable().meta({
      description:
        'What became of the request to cancel the key; null when there was none. `in_progress`: the operation is under way, or its payment is being canceled or refunded. `prevented`: nothing was executed, and nothing will be. `undone`: the payment is canceled, or the provider has accepted refunds of all its money. `nothing_to_undo`: the operation ended without effect. `refused`: what it did cannot be undone, for example because the payment is disputed.',
    }),
    created_at: timeField('When the key was first used.'),
    expires_at: timeField('When the key expires. Its stored response is not available after that.'),
  })
  .meta({
    id: 'IdempotencyKey',
    examples: [
      {
        object: 'idempotency_key',
        key: EXAMPLE_KEY,
        operation: 'payment.create',
        status: 'completed',
        recovery_point: 'finished',
        attempts: 1,
        resource: { object: 'payment', id: exampleId('pay') },
        cancellation: null,
        created_at: EXAMPLE_TIME,
        expires_at: '2026-02-07T12:00:00.000Z',
      },
    ],
  })
