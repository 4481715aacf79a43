// Describes the responses of an endpoint for OpenAPI: its successes, and one response for each
// status of its problems.
import { STATUS_CODES } from 'node:http'
import { z } from 'zod'
import type { ZodOpenApiResponseObject, ZodOpenApiResponsesObject } from 'zod-openapi'
import { problems, type ProblemType } from '../domain/problems/problems.ts'
import { withIdempotencyField } from '../http/contracts/idempotency-field.ts'
import type { Contract, Success } from '../http/contracts/contract.ts'
import type { ResponseHeader } from '../http/contracts/response-headers.ts'
import {
  acpErrorSchema,
  pascalCase,
  problemSchema,
  stripeErrorSchema,
} from '../http/contracts/problem-schema.ts'
import {
  problemsAnywhere,
  problemsOf,
  type Access,
  type ContractedEndpoint,
} from './problems-of.ts'

/** The name of the response to requests that reach no endpoint. */
export const UNSERVED = 'Unserved'

/** Responses that several endpoints share, by name. */
export type SharedResponses = Map<string, ZodOpenApiResponseObject>

/** With these statuses, the request is refused before the idempotency key is read. */
const BEFORE_THE_KEY = [401, 403, 413, 415, 417, 431, 500]

const CHALLENGED = [401, 403]

const RETRIED_LATER = [409, 429, 500, 503]

export function describeResponses(
  endpoint: ContractedEndpoint,
  shared: SharedResponses,
): ZodOpenApiResponsesObject {
  const { contract } = endpoint
  const types = [...problemsOf(endpoint)]
  const statuses = [...new Set(types.map((type) => problems[type].status))]
  const failures = statuses.map((status) => {
    const typesOfStatus = types.filter((type) => problems[type].status === status)
    return [status, share(shared, endpoint, status, typesOfStatus)] as const
  })
  const successes = Object.entries(contract.answers).map(
    ([status, success]) => [Number(status), describeSuccess(endpoint, success)] as const,
  )
  const all = [...failures, ...successes].toSorted(([one], [other]) => one - other)
  const responses = Object.fromEntries(all) as ZodOpenApiResponsesObject
  const unserved = { $ref: `#/components/responses/${UNSERVED}` }
  // Documents that a request can fail even when the endpoint itself refuses nothing.
  const hasRefusals = statuses.some((status) => status < 500)
  return { ...responses, ...(hasRefusals ? {} : { '4XX': unserved }), default: unserved }
}

function describeSuccess(
  { access, contract }: ContractedEndpoint,
  success: Success,
): ZodOpenApiResponseObject {
  const { description, texts = [], headers = [] } = success
  const schema =
    contract.keyed === undefined || success.schema === undefined
      ? success.schema
      : withIdempotencyField(success.schema)
  const waits = contract.keyed === 'foreign' && contract.answers[202] === success
  const content = {
    ...(schema === undefined ? {} : { 'application/json': { schema } }),
    ...Object.fromEntries(texts.map((type) => [type, { schema: z.string() }])),
  }
  return {
    description,
    headers: headerRefs([
      ...usualHeaders(access, contract),
      ...keyHeaders(contract),
      ...headers,
      ...(waits ? (['Retry-After'] as const) : []),
    ]),
    ...(Object.keys(content).length === 0 ? {} : { content }),
  }
}

/**
 * Adds a response to the shared ones and returns a reference to it; returns it inline if the name
 * is taken.
 */
function share(
  shared: SharedResponses,
  { access, contract }: ContractedEndpoint,
  status: number,
  types: readonly ProblemType[],
): ZodOpenApiResponseObject | { $ref: string } {
  const response = describeProblems(STATUS_CODES[status] ?? 'Refused', types, [
    ...usualHeaders(access, contract),
    ...(BEFORE_THE_KEY.includes(status) ? policyHeaders(contract) : keyHeaders(contract)),
    ...(CHALLENGED.includes(status) ? (['WWW-Authenticate'] as const) : []),
    ...(RETRIED_LATER.includes(status) ? (['Retry-After'] as const) : []),
    ...(types.includes('idempotency-key-expired') && contract.keyed === undefined
      ? (['Idempotency-Key-Expired', 'Idempotency-Earlier-Resource'] as const)
      : []),
    ...(types.includes('response-dropped') ? (['Location'] as const) : []),
  ])
  const kind =
    contract.keyed === undefined ? pascalCase(access) : `${pascalCase(contract.keyed)}Key`
  const cause = types.length > 2 ? (STATUS_CODES[status] ?? '') : types.map(pascalCase).join('Or')
  const name = `${kind}-${cause.replaceAll(/[^A-Za-z]/g, '')}`
  const existing = shared.get(name)
  if (existing === undefined) shared.set(name, response)
  else if (JSON.stringify(existing) !== JSON.stringify(response)) return response
  return { $ref: `#/components/responses/${name}` }
}

/** Describes the answers to requests that are refused before they reach an endpoint. */
export function describeUnserved(): ZodOpenApiResponseObject {
  const headers: ResponseHeader[] = ['Request-Id', 'Retry-After', 'Stripe-Should-Retry']
  return describeProblems('The request reached no endpoint', problemsAnywhere, headers)
}

/** Describes a response that is one of several problems. */
function describeProblems(
  summary: string,
  types: readonly ProblemType[],
  headers: readonly ResponseHeader[],
): ZodOpenApiResponseObject {
  const names = types.map((type) => `\`${type}\``).join(', ')
  return {
    description: `${summary}: ${names}.`,
    headers: headerRefs(headers),
    content: {
      'application/problem+json': { schema: oneOfProblems(types) },
      'application/json': { schema: errorOfFlavor },
    },
  }
}

/** A service has one flavor. */
const errorOfFlavor = z.union([stripeErrorSchema, acpErrorSchema])

const unions = new Map<string, z.ZodType>()

/** Returns the same schema object for the same types, so that equal responses compare as equal. */
function oneOfProblems(types: readonly ProblemType[]): z.ZodType {
  const schemas = types.map(problemSchema)
  const [first] = schemas
  if (first === undefined) throw new Error('a response without problems')
  if (schemas.length === 1) return first
  const key = types.join(' ')
  const union = unions.get(key) ?? z.union(schemas).meta({ override: toOneOf })
  unions.set(key, union)
  return union
}

/** Problems exclude each other, because each has a different `type`. */
function toOneOf({ jsonSchema }: { jsonSchema: Record<string, unknown> }): void {
  jsonSchema['oneOf'] = jsonSchema['anyOf']
  delete jsonSchema['anyOf']
}

function usualHeaders(access: Access, { keyed }: Contract): ResponseHeader[] {
  return [
    'Request-Id',
    ...(access === 'tenant' ? (['RateLimit', 'RateLimit-Policy'] as const) : []),
    'Stripe-Should-Retry',
    ...(keyed === undefined ? [] : (['Link'] as const)),
  ]
}

function keyHeaders({ keyed }: Contract): ResponseHeader[] {
  if (keyed === undefined) return []
  return [
    'Idempotency-Key',
    'Idempotency-Key-Expires',
    'Idempotency-Key-Expired',
    'Idempotency-Earlier-Resource',
    'Idempotent-Replayed',
    'Repeatability-Result',
    'Preference-Applied',
  ]
}

/** Every answer to a keyed request links the idempotency policy. */
function policyHeaders({ keyed }: Contract): ResponseHeader[] {
  return keyed === undefined ? [] : ['Link']
}

function headerRefs(names: readonly ResponseHeader[]): Record<string, { $ref: string }> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}
