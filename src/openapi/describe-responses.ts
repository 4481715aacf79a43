// Describes responses for OpenAPI: the successes of an endpoint, and one response for each status of
// a problem, which all endpoints share. `x-problems` of an operation says what it can answer.
import { STATUS_CODES } from 'node:http'
import { z } from 'zod'
import type { ZodOpenApiOperationObject, ZodOpenApiResponseObject } from 'zod-openapi'
import { problems, type ProblemType } from '../domain/problems/problems.ts'
import {
  tenantTags,
  type Contract,
  type Endpoints,
  type Success,
} from '../http/contracts/contract.ts'
import { EARLIER_USE_HEADERS, type ResponseHeader } from '../http/contracts/response-headers.ts'
import {
  acpErrorSchema,
  exampleProblem,
  problemSchema,
  stripeErrorSchema,
} from '../http/contracts/problem-schema.ts'
import { pascalCase } from './share-parts.ts'
import { problemNamesOf, problemsOf } from './problems-of.ts'

/** The name of the response with any other status. */
const DEFAULT = 'OtherProblem'

/** The statuses of problems that do not depend on the operation: `default` stands for them. */
const OF_ANY_OPERATION = [401, 403, 405, 413, 415, 417, 429, 431, 500, 503]

/** In the document of all operations. In its own document, a name has no prefix. */
export const PREFIXES = { tenants: '', operators: 'Operators-' }

type Readers = keyof typeof PREFIXES

export function describeResponses(
  method: string,
  endpoint: Endpoints[string],
): Pick<ZodOpenApiOperationObject, 'responses' | `x-${string}`> {
  const names = problemNamesOf(method, endpoint)
  const readers = Object.hasOwn(tenantTags, endpoint.tag) ? 'tenants' : 'operators'
  const refTo = (name: string) => ({ $ref: `#/components/responses/${PREFIXES[readers]}${name}` })
  const failures = [...problemsOf(method, endpoint)]
    .map((type) => problems[type].status)
    .filter((status) => !OF_ANY_OPERATION.includes(status))
    .map((status) => [status, refTo(nameOf(status))] as const)
  const successes = Object.entries(endpoint.answers).map(
    ([status, success]) => [status, describeSuccess(endpoint, success)] as const,
  )
  return {
    responses: Object.fromEntries<ZodOpenApiResponseObject>([
      ...successes,
      ...failures,
      ['default', refTo(DEFAULT)],
    ]),
    ...(names.length === 0 ? {} : { 'x-problems': names }),
  }
}

function describeSuccess({ keyed, answers }: Contract, success: Success): ZodOpenApiResponseObject {
  const { description, schema, texts = [], headers: own = [] } = success
  const waits = keyed === 'foreign' && answers[202] === success
  const headers = [
    ...(keyed === undefined ? [] : KEY_HEADERS),
    ...own,
    ...(waits ? (['Retry-After'] as const) : []),
  ]
  const example = success.example ?? schema?.meta()?.['examples']?.[0]
  const json = schema && { schema, ...(example === undefined ? {} : { example }) }
  const content = {
    ...(json === undefined ? {} : { 'application/json': json }),
    ...Object.fromEntries(texts.map((type) => [type, { schema: z.string() }])),
  }
  return {
    description,
    ...(headers.length === 0 ? {} : { headers: headerRefs(headers) }),
    ...(Object.keys(content).length === 0 ? {} : { content }),
  }
}

/** The responses that operations refer to: one for each status, and one for those of any. */
export function describeProblems(readers: Readers): Record<string, ZodOpenApiResponseObject> {
  const types = Object.keys(problems) as ProblemType[]
  const own = types.filter((type) => !OF_ANY_OPERATION.includes(problems[type].status))
  const isTenants = readers === 'tenants'
  const shared = [...Map.groupBy(own, (type) => problems[type].status)].map(
    ([status, [example = 'internal-error']]) => {
      const headers: ResponseHeader[] = [
        ...(isTenants ? KEY_HEADERS : []),
        ...(status === problems['operation-in-progress'].status ? (['Retry-After'] as const) : []),
        ...(status === problems['response-dropped'].status ? (['Location'] as const) : []),
      ]
      const shown = isTenants ? example : undefined
      return [nameOf(status), describeProblem(`${titleOf(status)}.`, headers, shown)] as const
    },
  )
  const others = describeProblem('A problem that does not depend on the operation.', [
    ...GENERAL_HEADERS,
    ...(isTenants ? [...LIMIT_HEADERS, ...KEY_HEADERS] : []),
    'WWW-Authenticate',
    'Retry-After',
  ])
  return Object.fromEntries(
    [...shared, [DEFAULT, others] as const].map(([name, one]) => [PREFIXES[readers] + name, one]),
  )
}

const nameOf = (status: number): string => pascalCase(titleOf(status))

const titleOf = (status: number): string => STATUS_CODES[status] ?? String(status)

function describeProblem(
  description: string,
  headers: readonly ResponseHeader[],
  shown: ProblemType = 'overloaded',
): ZodOpenApiResponseObject {
  return {
    description,
    ...(headers.length === 0 ? {} : { headers: headerRefs(headers) }),
    content: {
      'application/problem+json': { schema: problemSchema, example: exampleProblem(shown) },
      'application/json': { schema: errorOfFlavor },
    },
  }
}

/** A service has one flavor. */
const errorOfFlavor = z.union([stripeErrorSchema, acpErrorSchema]).meta({ id: 'ErrorOfFlavor' })

/** Any answer can have them. They are described once, with the response for any other status. */
const GENERAL_HEADERS: readonly ResponseHeader[] = ['Request-Id', 'Stripe-Should-Retry']

/** On answers to requests with an API key. */
const LIMIT_HEADERS: readonly ResponseHeader[] = ['RateLimit', 'RateLimit-Policy']

const KEY_HEADERS: readonly ResponseHeader[] = [
  'Link',
  'Idempotency-Key',
  'Idempotency-Key-Expires',
  ...EARLIER_USE_HEADERS,
  'Idempotent-Replayed',
  'Repeatability-Result',
  'Preference-Applied',
]

function headerRefs(names: readonly ResponseHeader[]): Record<string, { $ref: string }> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}
