// The contracts of the endpoints of idempotency keys.
import { z } from 'zod'
import { flavors } from '../../domain/problems/flavor.ts'
import { anyMembers } from '../contracts/fields.ts'
import { idempotencyKeySchema } from './schema.ts'
import type { Contracts } from '../contracts/contract.ts'

const idempotencyPolicySchema = z
  .looseObject({
    flavor: z.enum(flavors),
    key: anyMembers,
    scope: z.string(),
    retention_seconds: z.int(),
    answers: anyMembers,
  })
  .meta({ id: 'IdempotencyPolicy' })

export const keyContracts: Contracts = {
  'GET /v1/idempotency-keys/:key': {
    operationId: 'getIdempotencyKey',
    tag: 'Idempotency keys',
    summary: 'Read what a key was used for',
    path: z.object({
      key: z.string().meta({ description: 'The key, without quotes.', examples: ['order-1042'] }),
    }),
    answers: {
      200: {
        description: 'The key.',
        schema: idempotencyKeySchema,
        headers: ['Idempotency-Key-Expired', 'Idempotency-Earlier-Resource'],
      },
    },
    problems: ['idempotency-key-expired'],
  },
  'GET /.well-known/idempotency-policy': {
    operationId: 'getIdempotencyPolicy',
    tag: 'Idempotency keys',
    summary: 'Read what can be relied on of keys, for machines',
    answers: { 200: { description: 'The policy.', schema: idempotencyPolicySchema } },
  },
}
