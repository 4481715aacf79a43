// Lists the members of a JSON schema, with those of inner objects, for the API reference.
export type Json = Record<string, unknown>

/** Follows a reference to a component. */
export type Resolve = (part: Json) => Json

interface Field {
  /** With the names of the objects around it: `provider.name`, `entries[].account`. */
  readonly name: string
  readonly type: string
  readonly required: boolean
  readonly description: string
}

/** Deeper objects are described on the pages of their own operations. */
const DEPTH_MAX = 4

/** Each name once, although variants may share it. */
export function describeFields(schema: Json, resolve: Resolve): Field[] {
  const fields = fieldsOf(schema, resolve, '', 0)
  return [...new Map(fields.toReversed().map((field) => [field.name, field])).values()].toReversed()
}

function fieldsOf(part: Json, resolve: Resolve, prefix: string, depth: number): Field[] {
  if (depth > DEPTH_MAX) return []
  const schema = resolve(part)
  const inner = partsOf(schema).flatMap((one) => fieldsOf(one, resolve, prefix, depth))
  const required = (schema['required'] ?? []) as string[]
  const own = Object.entries((schema['properties'] ?? {}) as Record<string, Json>).flatMap(
    ([key, value]) => {
      const shown = resolve(value)
      const name = `${prefix}${key}`
      const { description = '' } = shown
      const field = {
        name,
        type: typeOf(shown, resolve),
        required: required.includes(key),
        description: String(description),
      }
      const items = shown['items'] as Json | undefined
      return [
        field,
        ...fieldsOf(shown, resolve, `${name}.`, depth + 1),
        ...(items === undefined ? [] : fieldsOf(items, resolve, `${name}[].`, depth + 1)),
      ]
    },
  )
  return [...inner, ...own]
}

/** What a schema extends, or its variants. */
function partsOf({ allOf, anyOf, oneOf }: Json): Json[] {
  return [allOf, anyOf, oneOf].flatMap((parts) => (parts ?? []) as Json[])
}

function typeOf(schema: Json, resolve: Resolve): string {
  const { type, const: only, enum: values, format, items, anyOf, oneOf } = schema
  if (only !== undefined) return JSON.stringify(only)
  if (Array.isArray(values)) return values.map((value) => String(value)).join(' | ')
  if (items !== undefined) return `list of ${typeOf(resolve(items as Json), resolve)}`
  const variants = (anyOf ?? oneOf) as Json[] | undefined
  if (variants !== undefined) {
    return [...new Set(variants.map((one) => typeOf(resolve(one), resolve)))].join(' | ')
  }
  const names = [(type ?? 'object') as string | string[]].flat().join(' | ')
  return typeof format === 'string' ? `${names}, ${format}` : names
}
