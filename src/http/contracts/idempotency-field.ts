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
  .meta({ id: 'Idempotency' })
  .optional()
  .meta({
    description:
      'Present with `Prefer: return=representation-with-idempotency`, or always if the service is configured so. It is not a part of the stored response.',
  })

const extended = new Map<z.ZodObject, z.ZodObject>()

/** The schema of a resource in the answer to a keyed request. */
export function withIdempotencyField(schema: z.ZodType): z.ZodType {
  if (!(schema instanceof z.ZodObject)) return schema
  const id = schema.meta()?.id
  const known = extended.get(schema)
  if (known !== undefined || id === undefined) return known ?? schema
  const keyed = schema.extend({ idempotency: idempotencyField }).meta({ id: `Keyed${id}` })
  extended.set(schema, keyed)
  return keyed
}
