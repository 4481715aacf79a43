// The OpenAPI documents are generated from the code, complete and short, with true examples.
import { readFileSync } from 'node:fs'
import { describe, expect, test } from '@jest/globals'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { parse } from 'yaml'
import { eventTypes } from '../../src/domain/events/event-types.ts'
import { problems, type ProblemType } from '../../src/domain/problems/problems.ts'
import { operatorTags, tenantTags } from '../../src/http/contracts/contract.ts'
import { responseHeaders } from '../../src/http/contracts/response-headers.ts'
import { endpoints } from '../../src/http/server/routes.ts'
import { renderDocuments } from '../../src/openapi/render-document.ts'
import { stripeCapabilities } from '../../src/provider/stripe/adapter.ts'
import { everyRoute } from '../support/routes.ts'

type Json = Record<string, unknown>

interface Operation extends Json {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly security?: readonly Json[]
  readonly parameters?: readonly Json[]
  readonly requestBody?: { readonly content: Record<string, Json> }
  readonly responses: Record<string, Json>
  readonly 'x-problems'?: readonly string[]
}

type Paths = Record<string, Record<string, Operation>>

interface OpenapiDocument extends Json {
  readonly security?: readonly Json[]
  readonly paths: Paths
  readonly webhooks?: Paths
  readonly components: Record<string, Record<string, Json>>
  readonly 'x-problem-groups': Record<string, readonly string[]>
}

const readText = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

const FILES = ['openapi.yaml', 'openapi-operators.yaml']
const documents = FILES.map((file) => {
  const text = readText(file)
  return { file, text, document: parse(text) as OpenapiDocument }
})
const both = documents.map(({ text }) => text).join('\n')

const ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false })
formats.default(ajv)
for (const { file, document } of documents) ajv.addSchema(document, file)

function expectFit(schema: string, value: unknown): void {
  const validate = ajv.compile({ $ref: encodeURI(schema) })
  validate(value)
  expect({ schema, errors: validate.errors }).toEqual({ schema, errors: null })
}

const routeNames = everyRoute.map(({ method, path }) => `${method} ${path}`)

/** Every operation with the place of its description. */
const operations = documents.flatMap(({ file, document }) =>
  Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({
      name: `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`,
      place: `${file}#/paths/${path.replaceAll('/', '~1')}/${method}`,
      document,
      operation,
    })),
  ),
)

test('both together have exactly the routes of the API', () => {
  expect(Object.keys(endpoints).toSorted()).toEqual(routeNames.toSorted())
  expect(operations.map(({ name }) => name).toSorted()).toEqual(routeNames.toSorted())
})

test('each has the operations of its readers', () => {
  const tagsOf = (index: number) =>
    new Set(
      Object.values(documents[index]?.document.paths ?? {})
        .flatMap((item) => Object.values(item))
        .flatMap(({ tags }) => tags),
    )

  expect([...tagsOf(0)].toSorted()).toEqual(Object.keys(tenantTags).toSorted())
  expect([...tagsOf(1)].toSorted()).toEqual(Object.keys(operatorTags).toSorted())
  const [tenants] = documents
  expect(tenants?.text).not.toMatch(/^ {2}\/(admin|console|provider|healthz)/m)
})

const rendered = new Map(renderDocuments())

describe.each(documents)('$file', ({ file, text, document }) => {
  test('is up to date with the code: `npm run openapi` writes it', () => {
    expect(rendered.get(file) === text).toBe(true)
  })

  test('has at most 150 KB', () => {
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(150_000)
  })

  test('has no lists of examples, and no component that nothing refers to', () => {
    expect(text).not.toMatch(/\bexamples: *(\[|\n *-)/)
    const names = Object.entries(document.components).flatMap(([kind, named]) =>
      kind === 'securitySchemes' ? [] : Object.keys(named).map((name) => `${kind}/${name}`),
    )
    expect(names.filter((name) => !text.includes(`"#/components/${name}"`))).toEqual([])
  })

  test('has one response for each status of a problem, and one schema of all problems', () => {
    const responses = Object.entries(document.components['responses'] ?? {})
    const ofProblems = responses.filter(([, response]) =>
      JSON.stringify(response).includes('application/problem+json'),
    )

    expect(ofProblems.length).toBeGreaterThan(2)
    for (const [, response] of ofProblems) {
      expect(JSON.stringify(response)).toContain('"#/components/schemas/Problem"')
    }
    expect(text.split('application/problem+json').length - 1).toBe(ofProblems.length)
  })
})

test.each(operations)('$name has a response for each status that it can answer', (one) => {
  const { operation, document } = one
  const { responses, 'x-problems': names = [] } = operation
  const types = names.flatMap((name) => document['x-problem-groups'][name] ?? name)
  const statuses = types.map((type) => problems[type as ProblemType].status)
  const ofAny = [401, 403, 413, 415, 429, 503]

  expect(Object.keys(responses)).toContain('default')
  expect(Object.keys(responses).filter((status) => /X/i.test(status))).toEqual([])
  expect(Object.keys(responses)).toEqual(
    expect.arrayContaining(statuses.filter((status) => !ofAny.includes(status)).map(String)),
  )
})

test.each(Object.keys(problems))('the problem %s is documented', (type) => {
  const listed = documents.flatMap(({ document }) => [
    ...Object.values(document['x-problem-groups']).flat(),
    ...Object.values(document.paths)
      .flatMap((item) => Object.values(item))
      .flatMap((operation) => operation['x-problems'] ?? []),
  ])

  expect(listed).toContain(type)
  expect(both).toMatch(new RegExp(`/problems/${type}\\b(?!-)`))
})

test.each(eventTypes)('has a webhook for %s', (type) => {
  const [{ document } = { document: undefined }] = documents
  const { operationId } = document?.webhooks?.['event']?.['post'] ?? {}
  const schemas = Object.entries(document?.components['schemas'] ?? {})
  const events = schemas.filter(([name]) => /^\w+Event$/.test(name))

  expect(operationId).toBe('onEvent')
  expect(JSON.stringify(events)).toContain(`"${type}"`)
})

test.each(Object.keys(responseHeaders))('the header %s is in a response', (name) => {
  expect(both.split(`"#/components/headers/${name}"`).length).toBeGreaterThan(1)
})

const byName = operations.map((one) => [one.name, one] as const)
test.each(byName)('%s requires the same kind of key as in the table of routes', (name, one) => {
  const { operation, document } = one
  const security = operation.security ?? document.security ?? []
  const { endpoint } = everyRoute.find(({ method, path }) => `${method} ${path}` === name) ?? {}

  expect(security.flatMap((scheme) => Object.keys(scheme))).toEqual(
    {
      tenant: ['tenantKey'],
      admin: ['operatorKey', 'consoleSession'],
      session: ['consoleSession'],
      console: [],
      open: [],
    }[endpoint?.access ?? 'open'],
  )
})

test.each(['ChargeAmount', 'PartAmount'])('%s lists every step and its minima', (name) => {
  const { description } = documents[0]?.document.components['schemas']?.[name] ?? {}
  const { chargeMinimaMinor, steps } = stripeCapabilities.amounts
  const rules = [...(name === 'ChargeAmount' ? chargeMinimaMinor : []), ...steps]

  expect(rules.length).toBeGreaterThan(0)
  for (const [currency, minor] of rules) {
    expect(description).toMatch(new RegExp(`\\W${currency}\\W+${minor}\\b`))
  }
})

interface Shown {
  readonly schema: string
  readonly value: Json
}

/** The example of a body, and the place of its schema. */
function shownAt(place: string, document: OpenapiDocument, content: Json = {}): Shown[] {
  return Object.entries(content as Record<string, Json>).flatMap(([type, media]) => {
    const [named] = Object.values((media['examples'] ?? {}) as Record<string, Json>)
    const shared =
      document.components['examples']?.[String(named?.['$ref']).split('/').at(-1) ?? '']
    const value = media['example'] ?? named?.['value'] ?? shared?.['value']
    const schema = `${place}/content/${type.replace('/', '~1')}/schema`
    return value === undefined ? [] : [{ schema, value: value as Json }]
  })
}

describe('examples', () => {
  const bodies = operations.map(({ place, document, operation, name }) => {
    const answers = Object.entries(operation.responses).flatMap(([status, response]) => {
      const shared = String(response['$ref']).split('/').at(-1) ?? ''
      const { content } = document.components['responses']?.[shared] ?? response
      const [file] = place.split('#')
      const at =
        response['$ref'] === undefined
          ? `${place}/responses/${status}`
          : `${file}#/components/responses/${shared}`
      return shownAt(at, document, content as Json).map((shown) => ({ ...shown, status }))
    })
    const requests = shownAt(`${place}/requestBody`, document, operation.requestBody?.content)
    return { name, requests, answers }
  })

  test.each(bodies)('of $name match their schemas', ({ requests, answers }) => {
    for (const { schema, value } of [...requests, ...answers]) expectFit(schema, value)
  })

  test('of webhooks match their schema', () => {
    const [{ document } = { document: undefined }] = documents
    const { requestBody } = document?.webhooks?.['event']?.['post'] ?? {}
    const content = requestBody?.content['application/json']

    expectFit('openapi.yaml#/components/schemas/Event', content?.['example'])
  })

  /** What a request calls otherwise than the answer does. */
  const RENAMED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
    'POST /v1/payments/:id/capture': { amount: 'amount_captured' },
    'POST /v1/payments/:id/cancel': { reason: 'cancellation_reason' },
  }

  const changes = bodies.filter(({ name }) => name.startsWith('POST /v1/'))

  test.each(changes)('of $name answer their request', ({ name, requests, answers }) => {
    const [request] = requests
    const finals = answers.filter(({ status }) => ['200', '201'].includes(status))
    for (const { value } of finals) {
      for (const [member, sent] of Object.entries(request?.value ?? {})) {
        const shown = value[RENAMED[name]?.[member] ?? member]
        if (shown !== undefined) expect([member, shown]).toEqual([member, sent])
      }
    }
    for (const { status, value } of answers.filter((answer) => answer.status === '202')) {
      const isOver = ['succeeded', 'declined', 'canceled'].includes(String(value['status']))
      expect([status, value['status'], isOver]).toEqual([status, value['status'], false])
    }
  })
})
