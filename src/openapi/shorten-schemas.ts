// Writes each schema of an OpenAPI document in its short form.
import type { Json, OpenapiDocument } from './openapi-document.ts'

/** Bounds of every number in JSON, names that are text, and the examples of fields. */
const SUPERFLUOUS = new Set(['minimum', 'maximum', 'propertyNames', 'examples'])

/** A schema with fewer properties is no base of others. */
const BASE_PROPERTIES_MIN = 5

/** What says no more beside another member: a format has its pattern, a reference its openness. */
const BESIDE = [
  ['format', 'pattern'],
  ['$ref', 'additionalProperties'],
] as const

export function shortenSchemas(document: OpenapiDocument): OpenapiDocument {
  const short = shorten(document)
  return { ...short, components: { ...short.components, schemas: extendBases(short) } }
}

function shorten<Part>(part: Part): Part {
  if (typeof part !== 'object' || part === null) return part
  if (Array.isArray(part)) return part.map(shorten) as Part
  const members = Object.entries(part)
    .filter(([name, value]) => !(SUPERFLUOUS.has(name) && isSuperfluous(value)))
    .filter(([name]) => !BESIDE.some(([other, one]) => name === one && Object.hasOwn(part, other)))
    .map(([name, value]) => [name, shorten(value)] as const)
  return shortenNullable(Object.fromEntries(members)) as Part
}

const isSuperfluous = (value: unknown): boolean =>
  Array.isArray(value) ||
  Math.abs(Number(value)) === Number.MAX_SAFE_INTEGER ||
  JSON.stringify(value) === '{"type":"string"}'

/** A type that may be null, instead of two alternatives. */
function shortenNullable(schema: Json): Json {
  const { anyOf, ...rest } = schema
  const [first, second, ...others] = (anyOf ?? []) as Json[]
  const isNullable = second?.['type'] === 'null' && others.length === 0
  if (!isNullable || typeof first?.['type'] !== 'string') return schema
  const { type, enum: values } = first
  return {
    ...first,
    ...rest,
    type: [type, 'null'],
    ...(Array.isArray(values) ? { enum: [...(values as unknown[]), null] } : {}),
  }
}

interface Base {
  readonly name: string
  readonly schema: Json
  readonly members: readonly string[]
}

/** Refers to a schema wherever another one has all its properties and more. */
function extendBases({ components: { schemas = {} } }: OpenapiDocument): Record<string, Json> {
  const bases = Object.entries(schemas)
    .map(([name, schema]) => ({ name, schema, members: membersOf(schema) }))
    .filter(({ schema, members }) => members.length > 0 && sizeOf(schema) >= BASE_PROPERTIES_MIN)
    .toSorted((one, other) => sizeOf(other.schema) - sizeOf(one.schema))
  return extendWith(bases, schemas) as Record<string, Json>
}

const sizeOf = ({ properties }: Json): number => Object.keys(properties ?? {}).length

/** The properties and what is required, in a form to compare. */
function membersOf({ properties, required, additionalProperties }: Json): string[] {
  if (properties === undefined || additionalProperties !== undefined) return []
  return [
    ...Object.entries(properties as Json).map((entry) => JSON.stringify(entry)),
    ...((required ?? []) as string[]),
  ]
}

function extendWith(bases: readonly Base[], part: unknown): unknown {
  if (typeof part !== 'object' || part === null) return part
  if (Array.isArray(part)) return part.map((item) => extendWith(bases, item))
  const schema = part as Json
  const members = membersOf(schema)
  const base = bases.find(
    (one) =>
      sizeOf(one.schema) < sizeOf(schema) &&
      one.members.every((member) => members.includes(member)),
  )
  const short = base === undefined ? schema : extend(base, schema)
  return Object.fromEntries(
    Object.entries(short).map(([name, value]) => [name, extendWith(bases, value)]),
  )
}

function extend({ name, schema: base }: Base, { properties, required = [], ...rest }: Json): Json {
  const ofBase = Object.keys(base['properties'] as Json)
  const own = Object.entries(properties as Json).filter(([key]) => !ofBase.includes(key))
  return {
    ...rest,
    allOf: [{ $ref: `#/components/schemas/${name}` }],
    properties: Object.fromEntries(own),
    required: (required as string[]).filter((key) => !ofBase.includes(key)),
  }
}
