// Checks that openapi.yaml is generated from the code, is complete, and that its examples fit its
// schemas.
import { readFileSync } from 'node:fs'
import { describe, expect, test } from '@jest/globals'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { parse } from 'yaml'
import { eventTypes } from '../../src/domain/events/event-types.ts'
import { problems } from '../../src/domain/problems/problems.ts'
import { contracts } from '../../src/openapi/contracts.ts'
import { responseHeaders } from '../../src/http/contracts/response-headers.ts'
import { stripeCapabilities } from '../../src/provider/stripe/capabilities.ts'
import { routes } from '../../src/http/server/routes.ts'
import { renderDocument } from '../../src/openapi/render-document.ts'

type Json = Record<string, unknown>

interface OpenapiDocument {
  readonly paths: Record<string, Record<string, Json>>
  readonly webhooks: Record<string, { post: Json }>
  readonly components: {
    readonly schemas: Record<
      string,
      { examples?: unknown[]; properties?: Record<string, { description?: string }> }
    >
    readonly headers: Json
    readonly responses: Json
  }
}

const readText = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const committed = readText('openapi.yaml')
const document = parse(committed) as OpenapiDocument

const ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false })
formats.default(ajv)
ajv.addSchema(document, 'openapi')

function expectFit(pointer: string, value: unknown): void {
  const validate = ajv.compile({ $ref: `openapi#/${encodeURI(pointer)}` })
  validate(value)
  expect({ pointer, errors: validate.errors }).toEqual({ pointer, errors: null })
}

const routeNames = routes.flatMap(({ path, get, post, delete: remove }) => [
  ...(get === undefined ? [] : [`GET ${path}`]),
  ...(post === undefined ? [] : [`POST ${path}`]),
  ...(remove === undefined ? [] : [`DELETE ${path}`]),
])

describe('the document', () => {
  test('is up to date with the code: `npm run openapi` writes it', () => {
    expect(renderDocument() === committed).toBe(true)
  })

  test('has exactly the routes of the API', () => {
    expect(Object.keys(contracts).toSorted()).toEqual(routeNames.toSorted())
    const documented = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.keys(item).map(
        (method) => `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`,
      ),
    )
    expect(documented.toSorted()).toEqual(routeNames.toSorted())
  })

  test('has a UUID wherever it shows an idempotency key, because a key must name no person', () => {
    const texts = [committed, readText('docs/api.md'), readText('docs/operations.md')]
    const keys = texts.flatMap((text) =>
      [...text.matchAll(/idempotency[-_]key"?: "?(?<key>[\w-]*\d[\w-]*)/gi)].map(
        ({ groups }) => groups?.['key'] ?? '',
      ),
    )

    const UUID = /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/
    expect(keys.filter((key) => !UUID.test(key))).toEqual([])
    expect(keys.length).toBeGreaterThan(3)
  })

  test.each(Object.keys(problems))('has the problem type %s in a response', (type) => {
    const name = type.replaceAll(/(?:^|-)([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())

    expect(committed.split(`"#/components/schemas/${name}Problem"`).length).toBeGreaterThan(1)
  })

  /**
   * Problems that occur before a request reaches an endpoint, with statuses that endpoints also
   * have.
   */
  const generalProblems = [
    ['malformed-request', '400'],
    ['request-timeout', '408'],
  ] as const
  test.each(generalProblems)(
    'has %s in every separate response for the status %s',
    (type, status) => {
      const described = Object.values(document.paths)
        .flatMap((item) => Object.values(item))
        .flatMap(({ responses }) => (responses as Record<string, { $ref?: string }>)[status] ?? [])
      const resolved = described.map(({ $ref, ...own }) => {
        const name = $ref?.replace('#/components/responses/', '')
        return name === undefined ? own : document.components.responses[name]
      })

      expect(resolved.length).toBeGreaterThan(0)
      for (const response of resolved) {
        expect(response).toMatchObject({ description: expect.stringContaining(`\`${type}\``) })
      }
    },
  )

  test.each(Object.keys(responseHeaders))('has the header %s in a response', (name) => {
    expect(committed.split(`"#/components/headers/${name}"`).length).toBeGreaterThan(1)
  })

  test.each(eventTypes)('has a webhook for %s', (type) => {
    expect(Object.keys(document.webhooks)).toContain(type)
  })

  test.each(routeNames)('%s requires the same kind of key as in the table of routes', (name) => {
    const [method = '', path = ''] = name.split(' ')
    const operation = document.paths[path.replaceAll(/:(\w+)/g, '{$1}')]?.[method.toLowerCase()]
    const schemes = ((operation?.['security'] ?? []) as Json[]).flatMap((one) => Object.keys(one))
    const route = routes.find((one) => one.path === path)
    const { access } = route?.[method.toLowerCase() as 'get' | 'post' | 'delete'] ?? {}

    expect(schemes).toEqual(
      {
        tenant: ['tenantKey'],
        admin: ['operatorKey', 'consoleSession'],
        session: ['consoleSession'],
        console: [],
        open: [],
      }[access ?? 'open'],
    )
  })
})

test.each(['CreatePayment', 'AdjustPayment'])('%s lists every minimum and step', (name) => {
  const { amount } = document.components.schemas[name]?.properties ?? {}
  const { chargeMinimaMinor, steps } = stripeCapabilities.amounts
  const rules = [...chargeMinimaMinor, ...steps]

  expect(rules.length).toBeGreaterThan(30)
  for (const [currency, minor] of rules) {
    expect(amount?.description).toMatch(new RegExp(`\\W${currency}\\W+${minor}\\b`))
  }
})

describe('examples', () => {
  const withExamples = Object.entries(document.components.schemas).filter(
    ([, { examples }]) => examples,
  )

  test.each(withExamples)('of %s match their schema', (name, { examples = [] }) => {
    expect(examples.length).toBeGreaterThan(0)
    for (const example of examples) expectFit(`components/schemas/${name}`, example)
  })

  const bodies = [
    ...Object.entries(document.paths).map(
      ([path, item]) => [`paths/${path.replaceAll('/', '~1')}`, item] as const,
    ),
    ...Object.entries(document.webhooks).map(([type, item]) => [`webhooks/${type}`, item] as const),
  ].flatMap(([pointer, item]) =>
    Object.entries(item).flatMap(([method, operation]) => {
      const body = operation['requestBody'] as { content?: Json } | undefined
      const content = body?.content?.['application/json'] as { example?: unknown } | undefined
      const place = `${pointer}/${method}/requestBody/content/application~1json/schema`
      return content?.example === undefined ? [] : [[place, content.example] as const]
    }),
  )

  test.each(bodies)('of the body at %s match its schema', (pointer, example) => {
    expectFit(pointer, example)
  })
})
