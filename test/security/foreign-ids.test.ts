// Names of another tenant's resources are answered, byte for byte, like names that do not exist.
import { randomBytes, randomUUIDv7 } from 'node:crypto'
import { once } from 'node:events'
import { Agent, request, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { parseId, showId, type IdPrefix } from '../../src/domain/resource-id.ts'
import { makePayment } from '../http/payments.ts'
import { get, paymentBody, post } from '../support/client.ts'
import { makeCustomer } from '../support/customers.ts'
import { expectDocumented } from '../support/documented.ts'
import { startReceiver, type Receiver } from '../support/receiver.ts'
import { everyRoute } from '../support/routes.ts'
import { startService, type Service, type Tenant } from '../support/service.ts'
import { until } from '../support/until.ts'

const LEAST_REQUESTS = 2_000
const AT_ONCE = 8

/** Values that only their owner may see. */
const SECRET = `theirs_${randomBytes(8).toString('hex')}`
const AMOUNT = 31_337

/** The name of a resource of the other tenant, and a name of the same form that does not exist. */
interface NamePair {
  readonly theirs: string
  readonly unknown: string
}

interface ForeignRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  /** The route and the resource; the same for both names of a pair. */
  readonly what: string
  /** The name in the request. */
  readonly sent: string
  readonly name: NamePair
}

let service: Service
let receiver: Receiver
let mine: Tenant
let theirs: Tenant
let names: readonly NamePair[]
let before: string

beforeAll(async () => {
  receiver = await startReceiver()
  service = await startService({
    WEBHOOK_ALLOW_INSECURE: 'true',
    ADMIN_API_KEY: `adm_${randomBytes(20).toString('hex')}`,
  })
  mine = await service.createTenant()
  theirs = await service.createTenant()
  // The asking tenant has resources, too, so that its lists are not empty.
  await fill(mine, 'mine', 1_999)
  await fill(theirs, SECRET, AMOUNT)
  names = await readNames()
  before = await readAll(theirs)
})
afterAll(async () => {
  agent.destroy()
  await service.stop()
  await receiver.stop()
})

/** Creates a resource of every kind for a tenant. */
async function fill(tenant: Tenant, secret: string, amount: number): Promise<void> {
  const { apiUrl } = service
  const customer = await makeCustomer(service, tenant)
  const fields = { amount, description: secret, metadata: { secret }, customer }
  await post(apiUrl, tenant, '/v1/webhook-endpoints', { url: receiver.url, description: secret })
  const paid = await post(apiUrl, tenant, '/v1/payments', paymentBody(fields), { key: secret })
  await post(apiUrl, tenant, `/v1/payments/${String(paid.json['id'])}/refunds`, { amount: 100 })
  await makePayment(service, tenant, 'requires_capture')
  await makePayment(service, tenant, 'requires_action')
  await makePayment(service, tenant, 'declined')
  // An attempt is recorded shortly after its receiver has answered.
  await until(async () => (await countOf(tenant, '/v1/webhook-deliveries?status=pending')) === 0)
  const events = await countOf(tenant, '/v1/events')
  expect(await countOf(tenant, '/v1/webhook-deliveries')).toBe(events)
}

async function countOf(tenant: Tenant, list: string): Promise<number> {
  const path = `${list}${list.includes('?') ? '&' : '?'}limit=100`
  return ((await get(service.apiUrl, tenant, path)).json['data'] as unknown[]).length
}

/**
 * Returns the names of all resources of the other tenant, each with an unknown name of the same
 * form.
 */
async function readNames(): Promise<NamePair[]> {
  const shown = [
    'payments',
    'events',
    'ledger/transactions',
    'webhook-endpoints',
    'webhook-deliveries',
  ]
  const ids: string[] = []
  for (const list of shown) {
    const { json } = await get(service.apiUrl, theirs, `/v1/${list}?limit=100`)
    ids.push(...(json['data'] as { id: string }[]).map(({ id }) => id))
  }
  for (const [prefix, table] of [
    ['re', 'refunds'],
    ['op', 'idempotency_keys'],
    ['key', 'api_keys'],
  ] as const) {
    const rows = await service.store.sql<{ id: string }[]>`
      select id from ${service.store.sql(table)} where tenant_id = ${theirs.id}
    `
    ids.push(...rows.map(({ id }) => showId(prefix, id)))
  }
  ids.push(showId('tnt', theirs.id))
  const [customer] = await service.store.sql<{ id: string }[]>`
    select id from provider_customers where tenant_id = ${theirs.id}
  `
  // One id of each kind, but every payment: they differ in their status.
  const isFirst = (id: string) => id === ids.find((other) => prefixOf(other) === prefixOf(id))
  const firsts = ids.filter(isFirst)
  const others = ids.filter((id) => id.startsWith('pay_') && !isFirst(id))
  const named = [SECRET, customer?.id ?? '']
  const keys = named.map((name) => ({ theirs: name, unknown: name.replace(/.$/, '0') }))
  return [...firsts.flatMap(formsOf), ...others.flatMap((id) => formsOf(id).slice(0, 1)), ...keys]
}

const prefixOf = (id: string) => id.slice(0, id.indexOf('_')) as IdPrefix

/** An id as it is, with another prefix, and of a payment also as its UUID and in capitals. */
function formsOf(id: string): NamePair[] {
  const uuid = parseId(prefixOf(id), id) ?? ''
  const unknownId = randomUUIDv7()
  const other = prefixOf(id) === 'pay' ? 're' : 'pay'
  const forms = [
    { theirs: id, unknown: showId(prefixOf(id), unknownId) },
    { theirs: showId(other, uuid), unknown: showId(other, unknownId) },
  ]
  if (prefixOf(id) !== 'pay') return forms
  return [
    ...forms,
    { theirs: uuid, unknown: unknownId },
    { theirs: id.toUpperCase(), unknown: showId(prefixOf(id), unknownId).toUpperCase() },
  ]
}

const FILTERS: Readonly<Record<string, readonly string[]>> = {
  '/v1/payments': [],
  '/v1/payments/:id/refunds': [],
  '/v1/refunds': [],
  '/v1/ledger/transactions': ['payment'],
  '/v1/events': ['payment'],
  '/v1/webhook-endpoints': [],
  '/v1/webhook-deliveries': ['endpoint', 'event'],
}

/** Every request that contains a name: in a path, as a cursor and as a filter. */
function waysToAsk(name: NamePair, whose: keyof NamePair): ForeignRequest[] {
  const sent = name[whose]
  const inPaths = everyRoute
    .filter(({ path }) => PARAMETER.test(path))
    // It uses up its own key of that name: see "of another tenant is another key".
    .filter(({ path }) => path !== '/v1/idempotency-keys/:key/cancel')
    .map(({ method, path }) => [method, path] as const)
  const inQueries = Object.entries(FILTERS).flatMap(([path, filters]) =>
    ['starting_after', 'ending_before', ...filters].map(
      (parameter) => ['GET', `${path}?${parameter}=:id`] as const,
    ),
  )
  return [...inPaths, ...inQueries].map(([method, path]) => ({
    method,
    path: path.replaceAll(PARAMETERS, encodeURIComponent(sent)),
    what: `${method} ${path} for ${name.theirs}`,
    sent,
    name,
  }))
}

const PARAMETER = /:(id|key)\b/
const PARAMETERS = new RegExp(PARAMETER, 'g')

interface Answer {
  readonly status: number
  /** The names and values, one after the other. */
  readonly headers: readonly string[]
  readonly text: string
}

const agent = new Agent({ keepAlive: true })

/** `fetch` takes twice the processor time for a request. */
async function ask({ method, path }: ForeignRequest): Promise<Answer> {
  const headers: Record<string, string> = { authorization: `Bearer ${mine.apiKey}` }
  if (method !== 'GET') headers['idempotency-key'] = randomUUIDv7()
  if (method === 'POST') headers['content-type'] = 'application/json'
  const url = new URL(path, service.apiUrl)
  const sent = request(url, { method, headers, agent }).end(method === 'POST' ? '{}' : undefined)
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  const content = await text(response)
  return { status: response.statusCode ?? 0, headers: response.rawHeaders, text: content }
}

/** Checks an answer against openapi.yaml. */
function check({ status, headers, text: body }: Answer, { method, path }: ForeignRequest): void {
  const pairs = headers.flatMap((name, index) =>
    index % 2 === 0 ? [[name, headers[index + 1] ?? ''] as [string, string]] : [],
  )
  const { pathname } = new URL(path, service.apiUrl)
  expectDocumented(method, pathname, { status, headers: new Headers(pairs) }, body)
}

/** All rows that name a tenant, in every table. */
async function readAll({ id }: Tenant): Promise<string> {
  const { sql } = service.store
  const tables = await sql<{ name: string }[]>`
    select table_name as name from information_schema.columns
    where table_schema = 'public' and column_name = 'tenant_id' order by table_name
  `
  const contents = tables.map(async ({ name }) => {
    const rows = await sql`
      select to_jsonb(entry)::text as entry from ${sql(name)} as entry
      where tenant_id = ${id} order by entry
    `
    return [name, rows.map(({ entry }) => String(entry))]
  })
  return JSON.stringify(await Promise.all(contents))
}

/** Headers that differ for each answer. */
const OWN_HEADERS = new Set<string | undefined>(['date', 'ratelimit', 'request-id', 'x-request-id'])

/**
 * Returns an answer without the name in the request and without the values of headers that differ
 * for each answer.
 */
function shapeOf({ status, headers, text: body }: Answer, { sent }: ForeignRequest): string {
  const common = headers.filter((_, index) => !OWN_HEADERS.has(headers[index - 1]?.toLowerCase()))
  return JSON.stringify([status, common, body]).replaceAll(sent, '<name>')
}

/** Returns the values of the other tenant in an answer, except the name in the request. */
function leaksIn({ headers, text: body }: Answer, { sent }: ForeignRequest): string[] {
  const content = JSON.stringify([headers, body]).replaceAll(sent, '')
  const ids = names.map((known) => known.theirs).filter((id) => !sent.includes(id))
  const marks = [SECRET, theirs.id, theirs.apiKey, `:${AMOUNT},`, ...ids]
  return marks.filter((mark) => mark !== sent && content.includes(mark))
}

// By its duration neither: ../http/server/equal-work.test.ts.
test('no answer to any route reveals anything about another tenant', async () => {
  const queue = names.flatMap((name) => [
    ...waysToAsk(name, 'theirs'),
    ...waysToAsk(name, 'unknown'),
  ])
  const shapes = new Map<string, Set<string>>()
  const leaks: string[] = []
  const rest = queue.values()
  const work = async () => {
    for (const asked of rest) {
      const answer = await ask(asked)
      leaks.push(...leaksIn(answer, asked).map((leak) => `${asked.what}: ${leak}`))
      const shape = shapeOf(answer, asked)
      const known = shapes.get(asked.what) ?? new Set()
      // Answers of one shape are documented alike.
      if (!known.has(shape)) check(answer, asked)
      shapes.set(asked.what, known.add(shape))
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))

  const differentAnswers = [...shapes].filter(([, answers]) => answers.size > 1)
  expect(queue.length).toBeGreaterThanOrEqual(LEAST_REQUESTS)
  expect(leaks).toEqual([])
  expect(differentAnswers.map(([what, answers]) => [what, ...answers])).toEqual([])
  expect(await readAll(theirs)).toBe(before)
}, 300_000)

test('an idempotency key of another tenant can be used, and creates a separate payment', async () => {
  const answer = await post(service.apiUrl, mine, '/v1/payments', paymentBody(), { key: SECRET })

  expect(answer.status).toBe(201)
  expect(answer.headers.get('idempotent-replayed')).toBeNull()
  expect(answer.text).not.toContain(String(AMOUNT))
  expect(await readAll(theirs)).toBe(before)
})
