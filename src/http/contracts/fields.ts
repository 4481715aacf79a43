// Zod schemas of fields that several resources have; they describe responses in openapi.yaml, and render
// rows, so that a resource is described once.
import { z } from 'zod'
import { type IdPrefix, showId } from '../../domain/resource-id.ts'
import { memberOf } from '../../db/connection/rows.ts'

const idSchemas = new Map<IdPrefix, z.ZodString>()
const prefixes = new WeakMap<z.ZodType, IdPrefix>()

/** A public id: the prefix and 26 characters of Crockford's base 32. */
export function idField(prefix: IdPrefix, description: string): z.ZodString {
  const schema =
    idSchemas.get(prefix) ??
    z
      .string()
      .regex(new RegExp(`^${prefix}_[0-7][0-9a-hjkmnp-tv-z]{25}$`))
      .meta({ id: `${prefix.charAt(0).toUpperCase()}${prefix.slice(1)}Id` })
  idSchemas.set(prefix, schema)
  const described = schema.meta({ description })
  prefixes.set(described, prefix)
  return described
}

/** The prefix of the ids in a field; undefined when it has no public ids. */
const prefixOf = (field: z.ZodType): IdPrefix | undefined => prefixes.get(field)

export function exampleId(prefix: IdPrefix): string {
  return `${prefix}_01k9zq4s5tfexbgc1m6v8w2d3h`
}

// Not `z.iso.datetime()`: its pattern is longer than the rest of a schema.
export function timeField(description: string): z.ZodString {
  return z.string().meta({ description, format: 'date-time' })
}

/** Keys are random, so that they name no person and cannot be guessed. */
export const EXAMPLE_KEY = '6f1c0a52-3b9e-4d7a-8f21-0c5e9d4b7a10'

export const EXAMPLE_TIME = '2026-01-31T12:00:00.000Z'

export const shownText = (description: string): z.ZodString => z.string().meta({ description })

export const shownCount = (description: string): z.ZodInt => z.int().meta({ description })

export const shownFlag = (description: string): z.ZodBoolean => z.boolean().meta({ description })

export const shownAmount = (what: string): z.ZodInt =>
  z.int().meta({
    description: `${what}, in the smallest unit of the currency, such as cents.`,
  })

export const shownCurrency = z
  .string()
  .regex(/^[a-z]{3}$/)
  .meta({
    description: 'Three-letter ISO 4217 currency code, in lower case.',
  })

/** An object without a stable shape: it is meant for people or differs between providers. */
export const anyMembers = z.record(z.string(), z.unknown())

const hasMore = z.boolean().meta({
  id: 'HasMore',
  description: 'Whether there are more entries beyond this page, in the direction of the cursor.',
})

/** A page of a list. */
export function listOf<Item extends z.ZodType>(id: string, item: Item) {
  return z
    .object({
      object: z.literal('list'),
      data: z.array(item),
      has_more: hasMore,
    })
    .meta({ id })
}

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

export type Json = Record<string, unknown>

/**
 * Renders a row. The field `next_check_at` of the schema has the value of the row's `nextCheckAt`, or of
 * `next_check_at`. An id, such as that of `tenant`, is that of `tenant` or `tenantId`, and gets its prefix
 * if it has none. What the schema does not name is not shown.
 *
 * @throws Error when the row has no value for a field that is not optional. Null is a value.
 */
export function render(schema: z.ZodObject, row: object): Json {
  const values = new Map(Object.entries(row) as [string, unknown][])
  const members = Object.entries(schema.shape).map(([name, field]) => {
    const shown = renderField(name, field as z.ZodType, values)
    if (shown === undefined && !(field instanceof z.ZodOptional)) {
      throw new Error(`the row has no value for ${name}`)
    }
    return [name, shown]
  })
  return Object.fromEntries(members) as Json
}

function renderField(
  name: string,
  field: z.ZodType,
  values: ReadonlyMap<string, unknown>,
): unknown {
  const inner = withoutWrapper(field)
  if (inner instanceof z.ZodLiteral) return inner.value
  const prefix = prefixOf(inner)
  const names = [name, memberOf(name), ...(prefix === undefined ? [] : [`${memberOf(name)}Id`])]
  const value = names.map((one) => values.get(one)).find((one) => one !== undefined)
  if (value === undefined || value === null) return value
  if (prefix !== undefined) return shownId(prefix, value as string)
  if (inner instanceof z.ZodObject) return render(inner, value)
  const items = inner instanceof z.ZodArray ? inner.element : undefined
  if (!(items instanceof z.ZodObject)) return value
  return (value as object[]).map((item) => render(items, item))
}

const shownId = (prefix: IdPrefix, id: string): string =>
  id.startsWith(`${prefix}_`) ? id : showId(prefix, id)

function withoutWrapper(field: z.ZodType): z.ZodType {
  const isWrapped = field instanceof z.ZodNullable || field instanceof z.ZodOptional
  return isWrapped ? withoutWrapper(field.unwrap() as z.ZodType) : field
}
