// Builds the OpenAPI documents from the contract of each endpoint, and the schemas that validate
// requests: one for tenants, and one for operators. No part is written by hand.
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { createDocument, type ZodOpenApiPathsObject } from 'zod-openapi'
import { operatorTags, tenantTags } from '../http/contracts/contract.ts'
import { eventBase } from '../http/resources/events.ts'
import { responseHeaders, type ResponseHeader } from '../http/contracts/response-headers.ts'
import { endpoints } from '../http/server/routes.ts'
import { describeOperation, securitySchemes } from './describe-operation.ts'
import { describeProblems } from './describe-responses.ts'
import { describeWebhooks } from './describe-webhooks.ts'
import type { OpenapiDocument } from './openapi-document.ts'
import { partOf } from './part-of.ts'
import { problemGroups } from './problems-of.ts'
import { shareParts } from './share-parts.ts'
import { shortenSchemas } from './shorten-schemas.ts'

/** Headers that are always present on the responses that have them in their description. */
const ALWAYS: readonly ResponseHeader[] = ['Request-Id']

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
  const headers = Object.entries(responseHeaders).map(([name, header]) => {
    const { $schema: _, ...schema } = z.toJSONSchema(header.schema)
    const required = ALWAYS.includes(name as ResponseHeader)
    return [name, { description: header.description, required, schema, example: header.example }]
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
