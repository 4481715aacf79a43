// Shares equal parts of an OpenAPI document as components: parameters, answers and their examples.
import {
  operationsOf,
  pascalCase,
  type Json,
  type Media,
  type OpenapiDocument,
} from './openapi-document.ts'

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
