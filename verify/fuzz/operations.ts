// Reads the operations of the OpenAPI documents: who may call each, its parameters and its body. It
// uses the documents alone, not the code of the service.
import { readFileSync } from 'node:fs'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { parse } from 'yaml'

type Json = Record<string, unknown>

export interface Operation {
  readonly id: string
  readonly method: string
  /** The path, with placeholders of existing objects of the caller as parameters. */
  readonly target: string
  /** The placeholder of the path's parameter, if it has one. */
  readonly pathId: string | undefined
  readonly access: 'tenant' | 'operator' | 'open'
  readonly isKeyed: boolean
  /** The names of its query parameters. Undefined if the operation ignores its query. */
  readonly query: readonly string[] | undefined
  readonly body: BodyContract | undefined
}

export interface BodyContract {
  readonly schema: Json
  /** Valid bodies. */
  readonly good: readonly Json[]
  /** Whether openapi.yaml allows a body. */
  readonly isValid: (body: unknown) => boolean
}

/** Whether the operation receives the provider's signed events. */
export function isEvent({ id }: Operation): boolean {
  return id === 'receiveProviderEvent'
}

/** The placeholders for ids in paths, by the prefix of the id. */
const PLACEHOLDER_BY_PREFIX: Readonly<Record<string, string>> = {
  pay: 'payment',
  re: 'refund',
  dp: 'dispute',
  evt: 'event',
  ltx: 'ledger-transaction',
  we: 'webhook-endpoint',
  wd: 'webhook-delivery',
  op: 'operation',
  rec: 'reconciliation',
  fnd: 'finding',
  tnt: 'tenant',
  key: 'spare-key-id',
}

/** The operations that need another object in their path to be valid. */
const PATH_ID_BY_OPERATION: Readonly<Record<string, string>> = {
  capturePayment: '{{held-payment}}',
  cancelPayment: '{{held-payment}}',
  // A valid change refuses the keys of later requests of the tenant.
  changeTenantLimits: '{{other-tenant}}',
}

/**
 * Replaces examples: openapi.yaml describes an event only as an object, and its webhook URL may be
 * a real one.
 */
const GOOD_BODIES: Readonly<Record<string, Json>> = {
  createWebhookEndpoint: { url: 'https://fuzz.invalid/', event_types: ['payment.succeeded'] },
  receiveProviderEvent: {
    id: 'evt_fuzz',
    object: 'event',
    type: 'payment_intent.created',
    created: 1_767_225_600,
    data: { object: { id: 'pi_fuzz', object: 'payment_intent' } },
  },
}

const documents = ['openapi.yaml', 'openapi-operators.yaml'].map(
  (name) => parse(readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8')) as Json,
)

const ajv = new Ajv2020({ strict: false, validateSchema: false })
formats.default(ajv)
documents.forEach((document, index) => ajv.addSchema(document, `openapi-${index}`))

/** The console for browsers and the events of extras, which the service under test does not have. */
const LEFT_OUT = /^\/(console|provider\/webhooks\/)/

export const operations: readonly Operation[] = documents.flatMap((document, index) =>
  Object.entries(document['paths'] as Record<string, Record<string, Json>>)
    .filter(([path]) => !LEFT_OUT.test(path))
    .flatMap(([path, item]) =>
      Object.entries(item).map(([method, described]) =>
        readOperation(`openapi-${index}`, path, method, {
          security: document['security'],
          ...described,
        }),
      ),
    ),
)

function readOperation(document: string, path: string, method: string, described: Json): Operation {
  const parameters = ((described['parameters'] ?? []) as Json[]).map(resolve)
  const query = parameters.filter((parameter) => parameter['in'] === 'query')
  const inPath = parameters.find((parameter) => parameter['in'] === 'path')
  const id = String(described['operationId'])
  const pathId =
    inPath === undefined ? undefined : (PATH_ID_BY_OPERATION[id] ?? placeholderOf(inPath))
  const refusesQueries = ((described['x-problems'] ?? []) as string[]).includes('invalid-query')
  return {
    id,
    method: method.toUpperCase(),
    target: pathId === undefined ? path : path.replace(/\{\w+\}/, pathId),
    pathId,
    access: readAccess(described),
    isKeyed: parameters.some(({ name }) => name === 'Idempotency-Key'),
    query: query.length > 0 || refusesQueries ? query.map(({ name }) => String(name)) : undefined,
    body: readBody(document, path, method, described),
  }
}

/** The placeholder for an id. For other parameters, their example, which exists too. */
function placeholderOf({ name, example = '' }: { name?: string; example?: string }): string {
  const named = PLACEHOLDER_BY_PREFIX[/^([a-z]+)_/.exec(example)?.[1] ?? '']
  if (named !== undefined) return `{{${named}}}`
  return name === 'key' ? '{{used-key}}' : example
}

function readAccess({ security }: Json): Operation['access'] {
  const [scheme] = ((security ?? []) as Json[]).flatMap((one) => Object.keys(one))
  if (scheme === undefined) return 'open'
  return scheme === 'tenantKey' ? 'tenant' : 'operator'
}

function readBody(
  document: string,
  path: string,
  method: string,
  described: Json,
): BodyContract | undefined {
  const body = described['requestBody'] as Json | undefined
  if (body === undefined) return undefined
  const media = (body['content'] as Record<string, Json>)['application/json'] ?? {}
  const place = `/paths/${path.replaceAll('/', '~1')}/${method}/requestBody/content/application~1json/schema`
  let validate: ValidateFunction | undefined
  return {
    schema: resolve(media['schema'] as Json),
    good: [
      GOOD_BODIES[String(described['operationId'])] ?? ((media['example'] ?? {}) as Json),
      ...(body['required'] === true ? [] : [{}]),
    ],
    isValid(value) {
      validate ??= ajv.compile({ $ref: `${document}#${encodeURI(place)}` })
      return validate(value)
    },
  }
}

/** Follows references, also chains of them. A component has the same name in both documents. */
export function resolve(value: Json): Json {
  const reference = value['$ref']
  if (typeof reference !== 'string') return value
  const [, kind = '', name = ''] = reference.slice(2).split('/')
  const found = documents.map(
    ({ components }) => (components as Record<string, Record<string, Json>>)[kind]?.[name],
  )
  return resolve(found.find((component) => component !== undefined) ?? {})
}
