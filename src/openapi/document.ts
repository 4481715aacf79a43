// Builds the OpenAPI document from the table of routes, the contract of each route, and the schemas
// that validate requests. No part of the document is written by hand.
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { createDocument, type ZodOpenApiPathsObject } from 'zod-openapi'
import { tags } from '../http/contracts/contract.ts'
import { contractOf, contracts } from './contracts.ts'
import { responseHeaders, type ResponseHeader } from '../http/contracts/response-headers.ts'
import type { Endpoint } from '../http/server/route.ts'
import { routes } from '../http/server/routes.ts'
import { describeOperation, securitySchemes } from './describe-operation.ts'
import { describeUnserved, UNSERVED, type SharedResponses } from './describe-responses.ts'
import { describeWebhooks } from './describe-webhooks.ts'

type OpenapiDocument = ReturnType<typeof createDocument>

const methods = ['get', 'post', 'delete'] as const

/** Headers that are always present on the responses that have them in their description. */
const ALWAYS: readonly ResponseHeader[] = ['Request-Id', 'WWW-Authenticate']

/** Markdown. The lines of a paragraph are joined, because openapi.yaml wraps them itself. */
const description = `A payments API that never charges twice.

**Authentication.** Send your API key as a bearer token: \`Authorization: Bearer sk_...\`.

**Idempotency.** Every POST and DELETE request below \`/v1/\` needs an \`Idempotency-Key\` header.
Use a new key for each operation that you intend, and the same key for each retry of it. The
operation is executed at most once. A retry returns the stored response, byte for byte; until there
is one, it returns a problem which says that the operation is still in progress or that its outcome
is not known yet.

**Errors.** Errors are problem details as in RFC 9457. The \`type\` of a problem is the path of a
page that explains what happened and what to do next.

**Pagination.** Lists return the newest entries first. Use \`limit\`, \`starting_after\` and
\`ending_before\` to page through them.

**Formats.** Amounts are integers in the smallest unit of the currency, such as cents. Times are in
ISO 8601 format, in UTC. Later versions may add members to responses: ignore members that you do not
know.`.replaceAll(/(?<!\n)\n(?!\n)/g, ' ')

export function makeDocument(): OpenapiDocument {
  const shared: SharedResponses = new Map()
  const paths = describePaths(shared)
  return createDocument(
    {
      openapi: '3.1.0',
      info: {
        title: 'Atomic Payments',
        version: readVersion(),
        description,
        license: { name: 'MIT', identifier: 'MIT' },
      },
      servers: [{ url: '/', description: 'The service that serves this document.' }],
      tags: Object.entries(tags).map(([name, text]) => ({ name, description: text })),
      paths,
      webhooks: describeWebhooks(),
      components: {
        securitySchemes,
        headers: describeHeaders(),
        responses: { ...Object.fromEntries(shared), [UNSERVED]: describeUnserved() },
      },
    },
    { override: openObjects },
  )
}

function describePaths(shared: SharedResponses): ZodOpenApiPathsObject {
  // The contracts are in an order for readers; the routes are in the order in which they are
  // matched.
  const order = Object.keys(contracts)
  const endpoints = routes.flatMap((route) =>
    methods.flatMap((method) => {
      const endpoint = route[method]
      return endpoint === undefined ? [] : [{ method, path: route.path, endpoint }]
    }),
  )
  const place = ({ method, path }: RouteEndpoint) => order.indexOf(nameOf(method, path))
  const paths: ZodOpenApiPathsObject = {}
  for (const { method, path, endpoint } of endpoints.toSorted((a, b) => place(a) - place(b))) {
    const contract = contractOf(method.toUpperCase(), path)
    const item = (paths[path.replaceAll(/:(\w+)/g, '{$1}')] ??= {})
    item[method] = describeOperation(method, endpoint, contract, shared)
  }
  return paths
}

interface RouteEndpoint {
  readonly method: (typeof methods)[number]
  readonly path: string
  readonly endpoint: Endpoint
}

const nameOf = (method: string, path: string): string => `${method.toUpperCase()} ${path}`

function describeHeaders() {
  const headers = Object.entries(responseHeaders).map(([name, header]) => {
    const { $schema: _, ...schema } = z.toJSONSchema(header.schema)
    const required = ALWAYS.includes(name as ResponseHeader)
    return [name, { description: header.description, required, schema, example: header.example }]
  })
  return Object.fromEntries(headers) as Record<string, Record<string, unknown>>
}

/** Allows unknown members in responses, which later versions may add, but not in requests. */
function openObjects({
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
}

function readVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}
