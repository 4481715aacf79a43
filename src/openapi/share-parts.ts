// Shares equal parts of an OpenAPI document as components: parameters, answers and their examples.

export type Json = Record<string, unknown>

export interface Operation extends Json {
  readonly operationId: string
  readonly tags: readonly string[]
  parameters?: Json[]
  readonly requestBody?: { readonly content: Record<string, Media> }
  readonly responses: Record<string, Json>
  readonly 'x-problems'?: readonly string[]
}

interface Media extends Json {
  readonly schema: Json
}

export type Paths = Record<string, Record<string, Operation>>

export interface OpenapiDocument extends Json {
  readonly paths: Paths
  readonly webhooks?: Paths
  readonly components: Record<string, Record<string, Json>>
}

export function operationsOf({ paths, webhooks = {} }: OpenapiDocument): Operation[] {
  return [paths, webhooks]
    .flatMap((items) => Object.values(items))
    .flatMap((item) => Object.values(item))
}

/** The name of a component. */
export function pascalCase(words: string): string {
  return words.replaceAll(/(?:^|[^A-Za-z0-9]+)([A-Za-z0-9])/g, (_, letter: string) =>
    letter.toUpperCase(),
  )
}

export function shareParts(document: OpenapiDocument): void {
  const operations = operationsOf(document)
  const parameters = operations.flatMap(({ parameters: own = [] }) => own)
  for (const parameter of parameters) describeBesideSchema(parameter)
  for (const operation of operations)
    if (operation.parameters?.length === 0) delete operation.parameters
  share(document, 'parameters', parameters, nameOfParameter)

  const answers = operations.flatMap(({ responses }) => Object.entries(responses))
  const media = answers.flatMap(([, answer]) => Object.values(mediaOf(answer)))
  const examples = media.flatMap((one) => [nameExample(one) ?? []].flat())
  share(document, 'examples', examples, nameOfExample)

  const statuses = new Map(answers.map(([status, answer]) => [answer, status]))
  const named = [...statuses.keys()].filter((answer) => schemaNameOf(answer) !== undefined)
  share(document, 'responses', named, (answer) => `${schemaNameOf(answer)}${statuses.get(answer)}`)
}

/** The name, after the kind of object if it is an id. */
function nameOfParameter({ name, example }: Json): string {
  const [, prefix = ''] = name === 'id' ? (/^([a-z]+)_/.exec(String(example)) ?? []) : []
  return pascalCase(`${prefix} ${String(name)}`)
}

function schemaNameOf(answer: Json): string | undefined {
  const { $ref } = mediaOf(answer)['application/json']?.schema ?? {}
  return typeof $ref === 'string' ? $ref.split('/').at(-1) : undefined
}

const mediaOf = ({ content }: Json): Record<string, Media> =>
  (content ?? {}) as Record<string, Media>

/** Moves the description and the example of a parameter to where tools look for them. */
function describeBesideSchema(parameter: Json): void {
  const { description, examples, ...schema } = parameter['schema'] as Json
  const [example] = (examples ?? []) as unknown[]
  Object.assign(parameter, {
    ...(description === undefined ? {} : { description }),
    schema,
    ...(example === undefined ? {} : { example }),
  })
}

/** Gives the example of an answer a name, because only such examples can be shared. */
function nameExample(media: Media): Json | undefined {
  const { example: value } = media
  if (value === undefined) return undefined
  const example = { value }
  media['examples'] = { [nameOfExample(example)]: example }
  delete media['example']
  return example
}

function nameOfExample({ value }: Json): string {
  const { object, status = '' } = value as { object: string; status?: string }
  return pascalCase(`${object} ${status}`)
}

/** Replaces parts that occur more than once by references to a component. */
function share(
  document: OpenapiDocument,
  kind: string,
  parts: readonly Json[],
  nameOf: (part: Json) => string,
): void {
  const components = (document.components[kind] ??= {})
  const own = parts.filter((part) => !Object.hasOwn(part, '$ref'))
  for (const [text, equal] of Map.groupBy(own, (part) => JSON.stringify(part))) {
    const [part = {}] = equal
    const name = nameOf(part)
    if (equal.length === 1 || Object.hasOwn(components, name)) continue
    components[name] = JSON.parse(text) as Json
    for (const one of equal) {
      for (const key of Object.keys(one)) delete one[key]
      one['$ref'] = `#/components/${kind}/${name}`
    }
  }
}

// Writes each schema of an OpenAPI document in its short form.

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
