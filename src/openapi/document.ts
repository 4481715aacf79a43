// The OpenAPI document: made of the table of routes, the contract of each, and the schemas that check what
// is sent. Nothing of it is written by hand anywhere else.
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { createDocument, type ZodOpenApiPathsObject } from 'zod-openapi'
import { tags } from '../http/contracts/contract.ts'
import { contractOf, contracts } from './contracts.ts'
import { responseHeaders, type ResponseHeader } from '../http/contracts/response-headers.ts'
import { routes, type Endpoint } from '../http/server/routes.ts'
import { describeOperation, securitySchemes } from './describe-operation.ts'
import { describeUnserved, UNSERVED, type SharedResponses } from './describe-responses.ts'
import { describeWebhooks } from './describe-webhooks.ts'

type OpenapiDocument = ReturnType<typeof createDocument>

const methods = ['get', 'post', 'delete'] as const

/** Headers that are on every response where they are described at all. */
const ALWAYS: readonly ResponseHeader[] = ['Request-Id', 'WWW-Authenticate']

const description = `A payments API that never charges twice.

Every POST and DELETE of a tenant needs an \`Idempotency-Key\`: one new key for each intended operation, the
same key for each retry of it. A retry is answered with the stored response, byte for byte, or told
truthfully that the operation is still in progress or that its outcome is not known yet.

Amounts are integers in minor units, such as cents. Times are ISO 8601 in UTC. Clients ignore members of
an answer that they do not know: there may be more of them in a later version. Errors are problems of
RFC 9457, whose \`type\` leads to a page that says what to do.`

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
      tags: Object.entries(tags).map(([name, about]) => ({ name, description: about })),
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
  // In the order of the contracts, which is that of a reader; the one of the routes is that of matching.
  const order = Object.keys(contracts)
  const served = routes.flatMap((route) =>
    methods.flatMap((method) => {
      const endpoint = route[method]
      return endpoint === undefined ? [] : [{ method, path: route.path, endpoint }]
    }),
  )
  const place = ({ method, path }: Served) => order.indexOf(nameOf(method, path))
  const paths: ZodOpenApiPathsObject = {}
  for (const { method, path, endpoint } of served.toSorted((a, b) => place(a) - place(b))) {
    const contract = contractOf(method.toUpperCase(), path)
    const item = (paths[path.replaceAll(/:(\w+)/g, '{$1}')] ??= {})
    item[method] = describeOperation(endpoint, contract, shared)
  }
  return paths
}

interface Served {
  readonly method: (typeof methods)[number]
  readonly path: string
  readonly endpoint: Endpoint
}

const nameOf = (method: string, path: string): string => `${method.toUpperCase()} ${path}`

function describeHeaders() {
  const described = Object.entries(responseHeaders).map(([name, header]) => {
    const { $schema: _, ...schema } = z.toJSONSchema(header.schema)
    const required = ALWAYS.includes(name as ResponseHeader)
    return [name, { description: header.description, required, schema, example: header.example }]
  })
  return Object.fromEntries(described) as Record<string, Record<string, unknown>>
}

/** What is answered may get more members; what is sent may not have any that are unknown. */
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
