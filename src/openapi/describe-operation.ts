// Describes an endpoint as an OpenAPI operation: its parameters, its body and its authentication.
import { z } from 'zod'
import type { ZodOpenApiOperationObject, ZodOpenApiRequestBodyObject } from 'zod-openapi'
import type { Contract, Endpoints } from '../http/contracts/contract.ts'
import { idempotencyKeyHeader, pageParameters, preferHeader } from '../http/contracts/parameters.ts'
import type { Endpoint } from '../http/server/route.ts'
import { describeResponses } from './describe-responses.ts'

export const securitySchemes = {
  tenantKey: {
    type: 'http',
    scheme: 'bearer',
    description:
      'The API key of a tenant, `sk_...`. Each endpoint states the scope that the key needs.',
  },
  operatorKey: {
    type: 'http',
    scheme: 'bearer',
    description: 'The operator key of a person who runs the service, `adm_...`.',
  },
  consoleSession: {
    type: 'apiKey',
    in: 'cookie',
    name: 'atomic_console',
    description:
      'The session of an operator in the console. By https the name of the cookie is `__Host-atomic_console`. A request that changes something also needs the header `X-CSRF-Token` with the `csrf_token` of the session. A request with `X-Background: true` does not extend the session.',
  },
} as const

function securityOf(endpoint: Endpoint): Record<string, string[]>[] {
  if (endpoint.access === 'tenant') return [{ tenantKey: [endpoint.scope] }]
  if (endpoint.access === 'admin') return [{ operatorKey: [] }, { consoleSession: [] }]
  return endpoint.access === 'session' ? [{ consoleSession: [] }] : []
}

export function describeOperation(
  method: string,
  { serve: endpoint, ...contract }: Endpoints[string],
): ZodOpenApiOperationObject {
  const { access } = endpoint
  const isRead = method === 'GET'
  const { operationId, tag, summary, description, body } = contract
  return {
    operationId,
    tags: [tag],
    summary,
    ...(description === undefined ? {} : { description }),
    security: securityOf(endpoint),
    requestParams: describeParameters(contract),
    ...(body === undefined ? {} : { requestBody: describeBody(body) }),
    ...describeResponses({ access, isRead, contract }),
  }
}

function describeParameters({ path, query, headers, isList, keyed }: Contract) {
  const ownHeaders = headers ?? z.object({})
  const header = keyed === undefined ? ownHeaders : ownHeaders.extend(idempotencyKeyHeader.shape)
  const listParameters = isList === true ? pageParameters.shape : {}
  return {
    ...(path === undefined ? {} : { path }),
    query: (query ?? z.object({})).extend(listParameters),
    header: keyed === undefined ? header : header.extend(preferHeader.shape),
  }
}

function describeBody(body: NonNullable<Contract['body']>): ZodOpenApiRequestBodyObject {
  const { schema, contentType = 'application/json', mayOmit = false, example } = body
  const content = { schema, ...(example === undefined ? {} : { example }) }
  return { required: !mayOmit, content: { [contentType]: content } }
}
