// Describes, for openapi.yaml, the member of an answer that says what its headers say of the key.
import { z } from 'zod'
import { timeField } from './fields.ts'

export const idempotencyField = z
  .object({
    replayed: z.boolean().meta({
      description: 'Whether this is the stored response of an earlier request with the same key.',
    }),
    key_expires_at: timeField(
      'When the idempotency key expires. While its operation is in progress, it does not expire.',
    ),
  })
  .meta({
    id: 'Idempotency',
    description:
      'Present in answers to requests with an idempotency key: with `Prefer: return=representation-with-idempotency`, or always if the service is configured so. It is not a part of the stored response.',
  })
  .optional()
