// Renders rows by the schemas that describe them in the OpenAPI documents, so that a resource of operators
// is described once.
import { z } from 'zod'
import { memberOf } from '../../db/connection/rows.ts'
import { showId, type IdPrefix } from '../../domain/resource-id.ts'
import { prefixOf } from './fields.ts'

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
