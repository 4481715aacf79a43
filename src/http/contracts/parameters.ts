// Parameters that several endpoints take, as openapi.yaml describes them.
import { z } from 'zod'
import type { IdPrefix } from '../../domain/resource-id.ts'
import { exampleId, EXAMPLE_TIME } from './fields.ts'

/** An id in a path, of which any other text is just not found. */
export function idInPath(prefix: IdPrefix, description: string): z.ZodObject {
  return z.object({ id: z.string().meta({ description, examples: [exampleId(prefix)] }) })
}

/** An id that leaves entries of a list out. */
export function idFilter(prefix: IdPrefix, description: string): z.ZodOptional<z.ZodString> {
  return z
    .string()
    .meta({ description, examples: [exampleId(prefix)] })
    .optional()
}

export function oneOf(names: readonly string[], description: string) {
  return z.enum(names).meta({ description }).optional()
}

export function timeFilterField(description: string) {
  return z
    .string()
    .meta({ description, format: 'date-time', examples: [EXAMPLE_TIME] })
    .optional()
}

export const pageParameters = z.object({
  limit: z
    .int()
    .min(1)
    .max(100)
    .default(10)
    .meta({
      param: { id: 'Limit' },
      description: 'How many entries a page has at most.',
    }),
  starting_after: z
    .string()
    .meta({
      param: { id: 'StartingAfter' },
      description: 'The id of the last entry of the page before this one.',
    })
    .optional(),
  ending_before: z
    .string()
    .meta({
      param: { id: 'EndingBefore' },
      description: 'The id of the first entry of the page after this one. Not with starting_after.',
    })
    .optional(),
})

export const idempotencyKeyHeader = z.object({
  'Idempotency-Key': z
    .string()
    .min(1)
    .meta({
      param: { id: 'IdempotencyKey' },
      description:
        'Names the intended operation: one new key for each, the same key for each retry of it. An RFC 9651 string in double quotes, or bare visible ASCII without spaces; 1 to 255 characters.',
      examples: ['order-1042'],
    }),
  'Request-Timestamp': z
    .string()
    .regex(/^t=\d{1,12},v1=[0-9a-f]{64}$/)
    .meta({
      param: { id: 'RequestTimestamp' },
      description:
        'Proves when the request was made, so that one that was held up is refused: the time in Unix seconds, and the HMAC-SHA-256 by the API key of time, method, path and body with dots between.',
    })
    .optional(),
})

export const preferHeader = z.object({
  Prefer: z
    .string()
    .meta({
      param: { id: 'Prefer' },
      description:
        '`wait=N` waits up to N seconds for the final result; `respond-async` does not wait (RFC 7240).',
      examples: ['respond-async', 'wait=5'],
    })
    .optional(),
})
