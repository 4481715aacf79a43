// Zod schemas of parameters that several endpoints accept; they describe requests in openapi.yaml.
import { z } from 'zod'
import { parseId, type IdPrefix } from '../../domain/resource-id.ts'
import { REFERENCE_LENGTH_MAX } from '../../domain/payments/payment.ts'
import { referenceField } from '../requests/validate-body.ts'
import { timeFilter, type DocumentedFilter, type Filter } from '../requests/list-query.ts'
import { EXAMPLE_KEY, EXAMPLE_TIME, exampleId } from './fields.ts'

/** A filter by the id of one resource; `what` names it in the error. */
export const byId = (
  prefix: IdPrefix,
  what: string,
  description: string,
): DocumentedFilter<string> => ({
  expected: `the id of one ${what}`,
  parse: (text) => parseId(prefix, text),
  field: z
    .string()
    .meta({ description, examples: [exampleId(prefix)] })
    .optional(),
})

/** A filter by one of the names; `expected` describes them in the error. */
export const byName = <Name extends string>(
  names: readonly Name[],
  expected: string,
  description: string,
): DocumentedFilter<Name> => ({
  expected,
  parse: (text) => names.find((name) => name === text),
  field: z.enum(names).describe(description).optional(),
})

/** The filter, with its description. */
export const byText = <Value>(
  filter: Filter<Value>,
  description: string,
  example?: string,
): DocumentedFilter<Value> => ({
  ...filter,
  field: z
    .string()
    .meta({ description, ...(example === undefined ? {} : { examples: [example] }) })
    .optional(),
})

export const byTime = (description: string): DocumentedFilter<string> => ({
  ...timeFilter,
  field: z
    .string()
    .meta({ description, format: 'date-time', examples: [EXAMPLE_TIME] })
    .optional(),
})

export const byReference = (resources: string): DocumentedFilter<string> => ({
  expected: `one reference: 1 to ${REFERENCE_LENGTH_MAX} visible ASCII characters`,
  parse: (text) => referenceField.safeParse(text).data,
  field: referenceField
    .optional()
    .describe(`Only return ${resources} with this reference, also those that were declined.`),
})

export const pageParameters = z.object({
  limit: z.int().min(1).max(100).default(10).meta({
    description: 'The maximum number of entries to return, from 1 to 100. 10 by default.',
  }),
  starting_after: z
    .string()
    .meta({
      description:
        'A cursor: the id of an entry. Returns the entries that follow it in the list. To get the next page, send the id of the last entry of the current page.',
    })
    .optional(),
  ending_before: z
    .string()
    .meta({
      description:
        'A cursor: the id of an entry. Returns the entries that precede it in the list. To get the previous page, send the id of the first entry of the current page. Cannot be combined with `starting_after`.',
    })
    .optional(),
})

export const idempotencyKeyHeader = z.object({
  'Idempotency-Key': z
    .string()
    .min(1)
    .meta({
      description:
        'A unique value that identifies the intended operation. Use a new key for each operation, and the same key for each retry of it. The key has 1 to 255 characters: either an RFC 9651 string in double quotes, or visible ASCII characters without spaces. The service accepts a request without this header if it has a Repeatability-Request-ID, which is another name for the key. The header is marked as required all the same, so that a generated client cannot send a request without a key.',
      examples: [EXAMPLE_KEY],
    }),
  'Repeatability-Request-ID': z
    .string()
    .regex(/^[\x21-\x7E]{1,255}$/)
    .meta({
      description:
        'Another name for Idempotency-Key, of OASIS Repeatable Requests 1.0, which can be sent instead of it, without quotes. It needs Repeatability-First-Sent.',
      examples: ['2f6c1a0e-7d1b-4c55-9a40-0f6f5d6f7a10'],
    })
    .optional(),
  'Repeatability-First-Sent': z
    .string()
    .meta({
      description:
        'When the client sent this request for the first time, as an IMF-fixdate (RFC 9110). Every retry sends the same time. With it, a retry after the key has expired and is deleted is refused with 412, and never executed a second time.',
      examples: ['Sat, 31 Jan 2026 12:00:00 GMT'],
    })
    .optional(),
  'Request-Timestamp': z
    .string()
    .regex(/^t=\d{1,12},v1=[0-9a-f]{64}$/)
    .meta({
      description:
        'Proves when the request was made, so that the service can refuse a request that was delayed on its way. Format: `t=<time>,v1=<signature>`. The time is in Unix seconds. The signature is the HMAC-SHA-256, in hexadecimal, of `<time>.<method>.<path>.<body>`, with the API key as the secret; the path includes the query.',
    })
    .optional(),
})

export const preferHeader = z.object({
  Prefer: z
    .string()
    .meta({
      description:
        'How long to wait for the final result (RFC 7240). `wait=N` waits up to N seconds. `respond-async` does not wait, and gets `202` as long as the operation is not completed, also for a retry. Without a preference, the first request waits for a few seconds and a retry does not wait; `/.well-known/idempotency-policy` states the limits. `return=representation-with-idempotency` adds `idempotency` to the body of an answer about a stored key: whether it is a replay, and when the key expires.',
      examples: ['respond-async', 'wait=5', 'return=representation-with-idempotency'],
    })
    .optional(),
})
