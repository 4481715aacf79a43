// Compares the route, the status, the headers and the body of an API response with openapi.yaml. It
// runs in the jest worker's own realm, because reading the document and compiling its schemas in
// each test file takes long.
import { readFileSync } from 'node:fs'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { parse } from 'yaml'

type Json = Record<string, unknown>

interface ResponseObject {
  readonly headers?: Json
  readonly content?: Record<string, unknown>
}

/** Headers that HTTP, Node and browser security policies add to any response. */
const HEADERS_OF_HTTP: ReadonlySet<string> = new Set([
  'allow',
  'cache-control',
  'connection',
  'content-length',
  'content-security-policy',
  'content-type',
  'cross-origin-opener-policy',
  'cross-origin-resource-policy',
  'date',
  'keep-alive',
  'referrer-policy',
  'strict-transport-security',
  'transfer-encoding',
  'vary',
  'x-content-type-options',
  'x-frame-options',
])

const UNSERVED = '#/components/responses/Unserved'

const METHODS = ['get', 'post', 'delete'] as const

const text = readFileSync(new URL('../../openapi.yaml', import.meta.url), 'utf8')
const document = closeObjects(parse(text))
const headersOfDocument = (document['components'] as Json)['headers'] as Record<string, Json>

const ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false })
formats.default(ajv)
ajv.addSchema(document, 'openapi')

const paths = Object.entries(document['paths'] as Record<string, Json>).map(([path, item]) => {
  const pattern = path.replaceAll('.', String.raw`\.`).replaceAll(/\{\w+\}/g, '[^/]+')
  return { path, item, pattern: new RegExp(`^${pattern}$`) }
})

/** Returns the differences of a response from the document. */
export function findUndocumented(
  method: string,
  path: string,
  { status, headers }: Pick<Response, 'status' | 'headers'>,
  body: string,
): string[] {
  const pointer = findResponse(method, path, status, body)
  if (typeof pointer === 'object') return [pointer.complaint]
  const response = resolve(pointer) as ResponseObject
  return [
    ...checkHeaders(response, headers),
    ...(method === 'HEAD' ? [] : checkBody(pointer, response, headers, body)),
  ]
}

/** Returns the pointer to the response in the document, or the reason why it has none. */
function findResponse(
  method: string,
  path: string,
  status: number,
  body: string,
): string | { complaint: string } {
  const lower = method === 'HEAD' ? 'get' : method.toLowerCase()
  const matching = paths.filter(({ pattern }) => pattern.test(path))
  // The path `/a/b` takes precedence over `/a/{id}`.
  const [found] = matching.toSorted(
    (one, other) => Number(one.path.includes('{')) - Number(other.path.includes('{')),
  )
  const known = METHODS.find((name) => name === lower)
  const operation = known && (found?.item[known] as Json | undefined)
  if (found === undefined || operation === undefined) {
    if (isBeforeRoutes(body)) return UNSERVED
    return { complaint: `no operation ${method} ${path} is documented` }
  }
  const responses = operation['responses'] as Record<string, { $ref?: string }>
  const response = responses[status]
  if (response === undefined) {
    if (isUnserved(status, body)) return UNSERVED
    const documented = Object.keys(responses).join(', ')
    return {
      complaint: `status ${status} is not documented for ${found.path}; these are: ${documented}`,
    }
  }
  const here = ['paths', found.path, String(known), 'responses', String(status)]
  return response.$ref ?? `#/${here.map(escapePointer).join('/')}`
}

/** Whether the response can precede the choice of a route, or says that there is none. */
function isBeforeRoutes(body: string): boolean {
  return BEFORE_ROUTES.some(
    (type) =>
      body.includes(`"/problems/${type}"`) ||
      // The flavour `acp` has no type, only a code.
      body.includes(`"code":"${type.replaceAll('-', '_')}"`),
  )
}

const BEFORE_ROUTES = [
  'route-not-found',
  'method-not-allowed',
  'malformed-request',
  'headers-too-large',
  'expectation-failed',
  'request-timeout',
]

/**
 * Whether the response is the default of every operation: a problem from before the operation ran.
 */
function isUnserved(status: number, body: string): boolean {
  if (!body.startsWith('{')) return false
  const problem = JSON.parse(body) as Json
  return (
    problem['status'] === status &&
    errorsOf(`${UNSERVED}/content/application~1problem+json/schema`, problem).length === 0
  )
}

function checkHeaders({ headers: documented = {} }: ResponseObject, headers: Headers): string[] {
  const names = new Map(Object.keys(documented).map((name) => [name.toLowerCase(), name]))
  const complaints = []
  for (const [name, value] of headers) {
    const known = names.get(name)
    if (known === undefined) {
      if (!HEADERS_OF_HTTP.has(name)) complaints.push(`the header ${name} is not documented`)
      continue
    }
    const wrong = errorsOf(`#/components/headers/${known}/schema`, value)
    complaints.push(...wrong.map((error) => `the header ${name}: ${error}`))
  }
  for (const [name, known] of names) {
    const isRequired = headersOfDocument[known]?.['required'] === true
    if (isRequired && !headers.has(name)) complaints.push(`the header ${name} is missing`)
  }
  return complaints
}

function checkBody(
  pointer: string,
  { content }: ResponseObject,
  headers: Headers,
  body: string,
): string[] {
  const [type = ''] = (headers.get('content-type') ?? '').split(';')
  if (content === undefined) return body === '' ? [] : ['a body is not documented']
  if (!Object.hasOwn(content, type)) return [`the content type ${type || 'none'} is not documented`]
  if (!type.endsWith('json')) return []
  return errorsOf(`${pointer}/content/${escapePointer(type)}/schema`, JSON.parse(body))
}

const validators = new Map<string, ValidateFunction>()

function errorsOf(pointer: string, value: unknown): string[] {
  const validate = validators.get(pointer) ?? ajv.compile({ $ref: `openapi${encodeURI(pointer)}` })
  validators.set(pointer, validate)
  if (validate(value)) return []
  const errors = validate.errors ?? []
  return errors.map(({ instancePath, message, params }) => {
    return `${instancePath || 'the body'} ${message ?? 'is wrong'} ${JSON.stringify(params)}`
  })
}

function resolve(pointer: string): unknown {
  let value: unknown = document
  for (const part of pointer.slice(2).split('/')) {
    value = (value as Json | undefined)?.[part.replaceAll('~1', '/').replaceAll('~0', '~')]
  }
  return value
}

function escapePointer(part: string): string {
  return part.replaceAll('~', '~0').replaceAll('/', '~1')
}

/** Closes all objects: clients must accept unknown members, but a test must not. */
function closeObjects(value: unknown): Json {
  if (Array.isArray(value)) value.forEach(closeObjects)
  else if (typeof value === 'object' && value !== null) {
    const schema = value as Json
    Object.values(schema).forEach(closeObjects)
    const isObject = schema['type'] === 'object' && typeof schema['properties'] === 'object'
    if (isObject) schema['additionalProperties'] ??= false
  }
  return value as Json
}
