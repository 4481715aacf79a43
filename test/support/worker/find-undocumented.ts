// Compares the route, the status, the headers and the body of an API response with the OpenAPI
// documents. It runs in the jest worker's own realm, because reading the documents and compiling their
// schemas in each test file takes long.
import { readFileSync } from 'node:fs'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { parse } from 'yaml'
import { problems, type ProblemType } from '../../../src/domain/problems/problems.ts'
import { storedProblems } from '../../../src/domain/operations/stored-response.ts'
import { findUndocumentedProblem } from './find-undocumented-problem.ts'

type Json = Record<string, unknown>

interface ResponseObject {
  readonly headers?: Json
  readonly content?: Record<string, unknown>
}

interface OperationObject {
  readonly security?: readonly Json[]
  readonly parameters?: readonly Json[]
  readonly responses: Record<string, { $ref?: string }>
  readonly 'x-problems'?: readonly string[]
}

/** Headers that HTTP, Node and browser security policies add to any response. */
const HEADERS_OF_HTTP: ReadonlySet<string> = new Set([
  'allow',
  'cache-control',
  'connection',
  'content-encoding',
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

/** Any answer can have them, and with an API key the limits of its tenant. */
const GENERAL_HEADERS = ['Request-Id', 'Stripe-Should-Retry']
const LIMIT_HEADERS = ['RateLimit', 'RateLimit-Policy']

/** Only answers to requests with an idempotency key have them. */
const KEY_HEADERS = [
  'idempotency-key',
  'idempotency-key-expires',
  'idempotent-replayed',
  'link',
  'preference-applied',
  'repeatability-result',
]

const RETRIED_LATER = [202, 409, 429, 500, 503]

const METHODS = ['get', 'post', 'delete'] as const

const ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false })
formats.default(ajv)

interface DocumentedOperation {
  /** The name of the file. */
  readonly file: string
  readonly path: string
  readonly pattern: RegExp
  readonly operations: Partial<Record<string, OperationObject>>
}

const documents = new Map(
  ['openapi.yaml', 'openapi-operators.yaml'].map((file) => {
    const document = parse(
      readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8'),
    ) as Json
    closeObjects(document, document)
    ajv.addSchema(document, file)
    return [file, document] as const
  }),
)

const paths = [...documents].flatMap(([file, document]) =>
  Object.entries(document['paths'] as Record<string, DocumentedOperation['operations']>).map(
    ([path, operations]): DocumentedOperation => {
      const pattern = path.replaceAll('.', String.raw`\.`).replaceAll(/\{\w+\}/g, '[^/]+')
      return { file, path, operations, pattern: new RegExp(`^${pattern}$`) }
    },
  ),
)

/** Returns the differences of a response from the documents. */
export function findUndocumented(
  method: string,
  path: string,
  { status, headers }: Pick<Response, 'status' | 'headers'>,
  body: string,
): string[] {
  const found = findResponse(method, path, status, body)
  if ('complaint' in found) return [found.complaint]
  const { file, pointer, operation } = found
  const response = resolve(file, pointer) as ResponseObject
  return [
    ...checkReplay(status, headers, body),
    ...checkHeaders(found, response, headers),
    ...checkKey(operation, status, headers, body),
    ...(method === 'HEAD' ? [] : checkBody(found, response, headers, body)),
    ...(response.content?.['application/problem+json'] === undefined || method === 'HEAD'
      ? []
      : findUndocumentedProblem(problemsOf(file, operation), status, headers, body)),
  ]
}

/** The problems of an operation, and those that are anywhere. */
function problemsOf(file: string, operation: OperationObject | undefined): string[] {
  const groups = resolve(file, '#/x-problem-groups') as Record<string, string[]>
  const names = ['anywhere', ...(operation?.['x-problems'] ?? [])]
  return names.flatMap((name) => groups[name] ?? name)
}

/**
 * An error is replayed only if the policy says that it is stored. A decline always is: in the flavour acp
 * it has the provider's code.
 */
function checkReplay(status: number, headers: Headers, body: string): string[] {
  if (status < 400 || status === 402 || !headers.has('idempotent-replayed')) return []
  return hasProblem(body, Object.keys(storedProblems)) ? [] : ['this error must not be stored']
}

interface FoundResponse {
  readonly file: string
  readonly pointer: string
  /** Undefined for an answer from before the choice of a route. */
  readonly operation: OperationObject | undefined
}

const DEFAULT = { file: 'openapi.yaml', pointer: '#/components/responses/OtherProblem' }

/** Returns the place of the response, or the reason why it has none. */
function findResponse(
  method: string,
  path: string,
  status: number,
  body: string,
): FoundResponse | { complaint: string } {
  const lower = method === 'HEAD' ? 'get' : method.toLowerCase()
  const matching = paths.filter(({ pattern }) => pattern.test(path))
  // The path `/a/b` takes precedence over `/a/{id}`.
  const [found] = matching.toSorted(
    (one, other) => Number(one.path.includes('{')) - Number(other.path.includes('{')),
  )
  const known = METHODS.find((name) => name === lower)
  const operation = known && found?.operations[known]
  if (found === undefined || operation === undefined) {
    if (hasProblem(body, BEFORE_ROUTES)) return { ...DEFAULT, operation }
    return { complaint: `no operation ${method} ${path} is documented` }
  }
  const { file } = found
  const { responses } = operation
  const statuses = problemsOf(file, operation).map((type) => problems[type as ProblemType].status)
  const isOther = responses[status] === undefined && statuses.includes(status)
  const key = isOther ? 'default' : String(status)
  const response = responses[key]
  if (response === undefined) {
    const documented = Object.keys(responses).join(', ')
    return {
      complaint: `status ${status} is not documented for ${found.path}; these are: ${documented}`,
    }
  }
  const here = ['paths', found.path, String(known), 'responses', key]
  return { file, operation, pointer: response.$ref ?? `#/${here.map(escapePointer).join('/')}` }
}

/** Whether the body is one of these problems, in any flavour. */
function hasProblem(body: string, types: readonly string[]): boolean {
  return types.some(
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

function checkHeaders(
  { file, operation }: FoundResponse,
  response: ResponseObject,
  headers: Headers,
): string[] {
  const hasLimits = operation?.security?.some((one) => 'tenantKey' in one) === true
  const documented = [
    ...Object.keys(response.headers ?? {}),
    ...GENERAL_HEADERS,
    ...(hasLimits ? LIMIT_HEADERS : []),
  ]
  const names = new Map(documented.map((name) => [name.toLowerCase(), name]))
  const complaints = headers.has('request-id') ? [] : ['the header request-id is missing']
  for (const [name, value] of headers) {
    const known = names.get(name)
    if (known === undefined) {
      if (!HEADERS_OF_HTTP.has(name)) complaints.push(`the header ${name} is not documented`)
      continue
    }
    const wrong = errorsOf(`${file}#/components/headers/${known}/schema`, value)
    complaints.push(...wrong.map((error) => `the header ${name}: ${error}`))
  }
  return complaints
}

/** What shared responses and schemas describe, and this answer must not have. */
function checkKey(
  operation: OperationObject | undefined,
  status: number,
  headers: Headers,
  body: string,
): string[] {
  const isKeyed = operation?.parameters?.some(({ $ref }) =>
    String($ref).endsWith('/IdempotencyKey'),
  )
  const ofKeys = KEY_HEADERS.filter((name) => headers.has(name))
  const unkeyed = [...ofKeys, ...(body.includes('"idempotency":') ? ['idempotency'] : [])]
  return [
    ...(isKeyed === true ? [] : unkeyed.map((name) => `${name} without an idempotency key`)),
    ...(headers.has('retry-after') && !RETRIED_LATER.includes(status) ? ['it is not retried'] : []),
    ...([401, 403].includes(status) && !headers.has('www-authenticate')
      ? ['the header www-authenticate is missing']
      : []),
  ]
}

function checkBody(
  { file, pointer }: FoundResponse,
  { content }: ResponseObject,
  headers: Headers,
  body: string,
): string[] {
  const [type = ''] = (headers.get('content-type') ?? '').split(';')
  if (content === undefined) return body === '' ? [] : ['a body is not documented']
  if (!Object.hasOwn(content, type)) return [`the content type ${type || 'none'} is not documented`]
  if (!type.endsWith('json')) return []
  return errorsOf(`${file}${pointer}/content/${escapePointer(type)}/schema`, JSON.parse(body))
}

const validators = new Map<string, ValidateFunction>()

function errorsOf(pointer: string, value: unknown): string[] {
  const validate = validators.get(pointer) ?? ajv.compile({ $ref: encodeURI(pointer) })
  validators.set(pointer, validate)
  if (validate(value)) return []
  const errors = validate.errors ?? []
  return errors.map(({ instancePath, message, params }) => {
    return `${instancePath || 'the body'} ${message ?? 'is wrong'} ${JSON.stringify(params)}`
  })
}

function resolve(file: string, pointer: string): unknown {
  let value: unknown = documents.get(file)
  for (const part of pointer.slice(2).split('/')) {
    value = (value as Json | undefined)?.[part.replaceAll('~1', '/').replaceAll('~0', '~')]
  }
  return value
}

function escapePointer(part: string): string {
  return part.replaceAll('~', '~0').replaceAll('/', '~1')
}

/**
 * Closes all objects: clients must accept unknown members, but a test must not. A closed object
 * cannot extend another one, so it gets the properties of that.
 */
function closeObjects(value: unknown, document: Json): void {
  if (typeof value !== 'object' || value === null) return
  const schema = value as Json
  const [{ $ref } = {}] = (schema['allOf'] ?? []) as { $ref?: string }[]
  if ($ref !== undefined) {
    const { schemas } = document['components'] as Record<string, Record<string, Json>>
    const base = schemas?.[$ref.split('/').at(-1) ?? ''] ?? {}
    closeObjects(base, document)
    schema['properties'] = { ...(base['properties'] as Json), ...(schema['properties'] as Json) }
    schema['required'] = [base['required'] ?? [], schema['required'] ?? []].flat()
    delete schema['allOf']
  }
  Object.values(schema).forEach((part) => closeObjects(part, document))
  const isObject = [schema['type']].flat().includes('object')
  if (isObject && typeof schema['properties'] === 'object') schema['additionalProperties'] ??= false
}
