// An idempotency key as the API shows it, described for openapi.yaml.
import { z } from 'zod'
import { operationStatuses } from '../../domain/operations/operation.ts'
import { EXAMPLE_TIME, exampleId, idField, timeField } from '../contracts/fields.ts'

export const idempotencyKeySchema = z
  .object({
    object: z.literal('idempotency_key'),
    key: z.string(),
    operation: z.string().meta({ description: 'What the key was used for.' }),
    status: z.enum(operationStatuses).meta({
      description:
        '`pending` and `processing`: it is being worked on. `completed`: the response is stored. `failed_retryable`: proved to have done nothing; a retry goes on. `unknown`: it may have happened, and is being looked up.',
    }),
    recovery_point: z.string(),
    attempts: z.int(),
    resource: z
      .union([
        z.object({ object: z.literal('payment'), id: idField('pay', 'The payment.') }),
        z.object({ object: z.literal('refund'), id: idField('re', 'The refund.') }),
      ])
      .nullable()
      .meta({ description: 'What it makes or works on; null for what is about no payment.' }),
    created_at: timeField('When the key was first used.'),
    expires_at: timeField('When it may be forgotten.'),
  })
  .meta({
    id: 'IdempotencyKey',
    examples: [
      {
        object: 'idempotency_key',
        key: 'order-1042',
        operation: 'payment.create',
        status: 'completed',
        recovery_point: 'finished',
        attempts: 1,
        resource: { object: 'payment', id: exampleId('pay') },
        created_at: EXAMPLE_TIME,
        expires_at: '2026-02-07T12:00:00.000Z',
      },
    ],
  })
