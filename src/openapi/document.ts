// Builds the OpenAPI documents from the contract of each endpoint, and the schemas that validate
// requests: one for tenants, and one for operators. No part is written by hand.
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import {
  createDocument,
  type ZodOpenApiPathsObject,
  type ZodOpenApiOperationObject,
  type ZodOpenApiRequestBodyObject,
} from 'zod-openapi'
import {
  operatorTags,
  tenantTags,
  type Contract,
  type Endpoints,
} from '../http/contracts/contract.ts'
import { eventBase, anyEventSchema, exampleEvent } from '../http/resources/events.ts'
import { responseHeaders, type HeaderDescription } from '../http/contracts/response-headers.ts'
import { endpoints } from '../http/server/routes.ts'
import { describeProblems, describeResponses } from './describe-responses.ts'
import { partOf } from './part-of.ts'
import { problemGroups } from './problems-of.ts'
import { shareParts, shortenSchemas, type OpenapiDocument } from './share-parts.ts'
import { idempotencyKeyHeader, pageParameters, preferHeader } from '../http/contracts/parameters.ts'
import type { Endpoint } from '../http/endpoint.ts'
import { RETRY_DELAYS_SECONDS } from '../domain/webhooks/webhook-delivery.ts'
import { EXAMPLE_TIME, exampleId } from '../http/contracts/fields.ts'

const common = `**Errors.** Errors are problem details as in RFC 9457. The \`type\` of a problem is the
path of a page that explains what happened and what to do next. \`x-problems\` lists the types that
an operation can answer with, and groups of them from \`x-problem-groups\`. Those of the group
\`anywhere\` can come from any path.

**Headers.** Every answer has \`Request-Id\`. Answers to requests with an API key have \`RateLimit\` and
\`RateLimit-Policy\`.

**Pagination.** Lists return the newest entries first. Use \`limit\`, \`starting_after\` and
\`ending_before\` to page through them.

**Formats.** Amounts are integers in the smallest unit of the currency, such as cents. Times are in
ISO 8601 format, in UTC. Later versions may add members to responses: ignore members that you do not
know.`

const forTenants = `A payments API that never charges twice.

**Authentication.** Send your API key as a bearer token: \`Authorization: Bearer sk_...\`.

**Idempotency.** Every POST and DELETE request below \`/v1/\` needs an \`Idempotency-Key\` header.
Use a new key for each operation that you intend, and the same key for each retry of it. The
operation is executed at most once. A retry returns the stored response, byte for byte; until there
is one, it returns a problem which says that the operation is still in progress or that its outcome
is not known yet.

${common}`

const forOperators = `For the people who run Atomic Payments: its operators' API, its console, what the
providers call, and health checks.

**Authentication.** Send your operator key as a bearer token: \`Authorization: Bearer adm_...\`.

${common}`

/** The documents by the names of their files. */
export function makeDocuments(): Record<string, OpenapiDocument> {
  const whole = makeDocument()
  return {
    'openapi.yaml': partOf(whole, {
      title: 'Atomic Payments',
      description: forTenants,
      tags: tenantTags,
    }),
    'openapi-operators.yaml': partOf(whole, {
      title: 'Atomic Payments for operators',
      description: forOperators,
      tags: operatorTags,
      security: [{ operatorKey: [] }, { consoleSession: [] }],
    }),
  }
}

function makeDocument(): OpenapiDocument {
  const made = createDocument(
    {
      openapi: '3.1.0',
      info: { title: '', version: readVersion(), license: { name: 'MIT', identifier: 'MIT' } },
      servers: [{ url: '/', description: 'The service that serves this document.' }],
      'x-problem-groups': problemGroups,
      paths: describePaths(),
      webhooks: describeWebhooks(),
      components: {
        securitySchemes,
        schemas: { EventBase: eventBase },
        headers: describeHeaders(),
        responses: { ...describeProblems('tenants'), ...describeProblems('operators') },
      },
    },
    { override: adaptSchema },
  )
  // The same object may be at several places.
  const document = JSON.parse(JSON.stringify(made)) as OpenapiDocument
  shareParts(document)
  return shortenSchemas(document)
}

function describePaths(): ZodOpenApiPathsObject {
  const paths: ZodOpenApiPathsObject = {}
  for (const [name, endpoint] of Object.entries(endpoints)) {
    const [method = '', path = ''] = name.split(' ')
    const item = (paths[path.replaceAll(/:(\w+)/g, '{$1}')] ??= {})
    item[method.toLowerCase() as 'get' | 'post' | 'delete'] = describeOperation(method, endpoint)
  }
  return paths
}

function describeHeaders() {
  const described = Object.entries<HeaderDescription>(responseHeaders)
  const headers = described.map(([name, { description, schema: values = z.string(), example }]) => {
    const { $schema: _, ...schema } = z.toJSONSchema(values)
    return [name, { description, required: name === 'Request-Id', schema, example }]
  })
  return Object.fromEntries(headers) as Record<string, Record<string, unknown>>
}

/**
 * Allows unknown members in responses, which later versions may add, but not in requests. States no
 * defaults: openapi-typescript would require every member that has one.
 */
function adaptSchema({
  jsonSchema,
  zodSchema,
  io,
}: {
  jsonSchema: Record<string, unknown>
  zodSchema: z.core.$ZodTypes
  io: 'input' | 'output'
}): void {
  const { def } = zodSchema._zod
  if (io === 'output' && def.type === 'object' && def.catchall === undefined) {
    delete jsonSchema['additionalProperties']
  }
  if (def.type === 'default') delete jsonSchema['default']
}

function readVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}

const securitySchemes = {
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

function describeOperation(method: string, endpoint: Endpoints[string]): ZodOpenApiOperationObject {
  const { operationId, tag, summary, description, body } = endpoint
  return {
    operationId,
    tags: [tag],
    summary,
    ...(description === undefined ? {} : { description }),
    security: securityOf(endpoint.serve),
    requestParams: describeParameters(endpoint),
    ...(body === undefined ? {} : { requestBody: describeBody(body) }),
    ...describeResponses(method, endpoint),
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

// A webhook: the request with any event, and the responses of a receiver.

const headers = z.object({
  'webhook-id': z.string().meta({
    description:
      'The id of the event. It is the same for every attempt; use it to ignore repeated deliveries.',
    examples: [exampleId('evt')],
  }),
  'webhook-timestamp': z
    .string()
    .regex(/^\d+$/)
    .meta({
      description:
        'When this attempt was signed, in Unix seconds. Refuse webhooks that were signed more than five minutes ago.',
      examples: [String(Date.parse(EXAMPLE_TIME) / 1_000)],
    }),
  'webhook-signature': z.string().meta({
    description:
      'The signatures of the webhook, separated by spaces: one HMAC-SHA-256 for each valid secret of the endpoint, as Standard Webhooks specifies. Accept the webhook if one of them matches.',
    examples: ['v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4='],
  }),
})

const attempts = RETRY_DELAYS_SECONDS.length + 1

const responses = {
  '2XX': { description: 'The event was received. The body of the response is ignored.' },
  '410': {
    description: 'The endpoint is gone. The service disables it and sends no more events to it.',
  },
  default: {
    description: `Any other response, or none within 10 seconds, counts as a failure. The service makes up to ${attempts} attempts within about three days.`,
  },
}

function describeWebhooks(): ZodOpenApiPathsObject {
  const schema = anyEventSchema
  const body = { schema, example: exampleEvent }
  return {
    event: {
      post: {
        operationId: 'onEvent',
        tags: ['Webhooks'],
        summary: 'An event',
        description: 'Sent when an event happens of a type that the endpoint has chosen.',
        security: [],
        requestParams: { header: headers },
        requestBody: { required: true, content: { 'application/json': body } },
        responses,
      },
    },
  }
}
