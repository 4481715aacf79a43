// The fields that shown resources have in common, as zod schemas that describe them in openapi.yaml.
import { z } from 'zod'
import type { IdPrefix } from '../../domain/resource-id.ts'

/** An id as it is shown: the prefix and 26 characters of Crockford's base 32. */
export function idField(prefix: IdPrefix, what: string): z.ZodString {
  return z
    .string()
    .regex(new RegExp(`^${prefix}_[0-7][0-9a-hjkmnp-tv-z]{25}$`))
    .meta({ description: what, examples: [exampleId(prefix)] })
}

export function exampleId(prefix: IdPrefix): string {
  return `${prefix}_01k9zq4s5tfexbgc1m6v8w2d3h`
}

// Not `z.iso.datetime()`, whose pattern is longer than everything else of a schema.
export function timeField(what: string): z.ZodString {
  return z.string().meta({ description: what, format: 'date-time', examples: [EXAMPLE_TIME] })
}

export const EXAMPLE_TIME = '2026-01-31T12:00:00.000Z'

export const shownAmount = (what: string): z.ZodInt =>
  z.int().meta({ description: `${what}, in minor units.`, examples: [1999] })

export const shownCurrency = z
  .string()
  .regex(/^[a-z]{3}$/)
  .meta({ description: 'ISO 4217 code in lower case.', examples: ['usd'] })

/** What a reader cannot rely on: it is for people, or differs from provider to provider. */
export const anyMembers = z.record(z.string(), z.unknown())

/** A page of a list. */
export function listOf<Item extends z.ZodType>(id: string, item: Item) {
  return z
    .object({
      object: z.literal('list'),
      data: z.array(item).meta({ description: 'Newest first, unless the route says otherwise.' }),
      has_more: z.boolean().meta({ description: 'Whether there are entries beyond this page.' }),
    })
    .meta({ id })
}
