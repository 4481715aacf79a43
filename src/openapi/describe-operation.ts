// Describes an endpoint as an OpenAPI operation: its parameters, its body and its authentication.
import { z } from 'zod'
import type { ZodOpenApiOperationObject, ZodOpenApiRequestBodyObject } from 'zod-openapi'
import type { Contract } from '../http/contracts/contract.ts'
import { idempotencyKeyHeader, pageParameters, preferHeader } from '../http/contracts/parameters.ts'
import type { Endpoint } from '../http/server/routes.ts'
import { describeResponses, type SharedResponses } from './describe-responses.ts'

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
} as const

function securityOf(endpoint: Endpoint): Record<string, string[]>[] {
  if (endpoint.access === 'tenant') return [{ tenantKey: [endpoint.scope] }]
  return endpoint.access === 'admin' ? [{ operatorKey: [] }] : []
}

export function describeOperation(
  endpoint: Endpoint,
  contract: Contract,
  shared: SharedResponses,
): ZodOpenApiOperationObject {
  const { access } = endpoint
  const { operationId, tag, summary, description, body } = contract
  return {
    operationId,
    tags: [tag],
    summary,
    ...(description === undefined ? {} : { description }),
    security: securityOf(endpoint),
    requestParams: describeParameters(contract),
    ...(body === undefined ? {} : { requestBody: describeBody(body) }),
    responses: describeResponses({ access, contract }, shared),
  }
}

function describeParameters({ path, query, headers, isList, keyed }: Contract) {
  const ownHeaders = headers ?? z.object({})
  const header = keyed === undefined ? ownHeaders : ownHeaders.extend(idempotencyKeyHeader.shape)
  const listParameters = isList === true ? pageParameters.shape : {}
  return {
    ...(path === undefined ? {} : { path }),
    query: (query ?? z.object({})).extend(listParameters),
    header: keyed === 'foreign' ? header.extend(preferHeader.shape) : header,
  }
}

function describeBody(body: NonNullable<Contract['body']>): ZodOpenApiRequestBodyObject {
  const { schema, mayOmit = false, example } = body
  const content = { schema, ...(example === undefined ? {} : { example }) }
  return { required: !mayOmit, content: { 'application/json': content } }
}
