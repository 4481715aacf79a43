// Tests that a request for another tenant's resource costs the same statements, and gets the same
// answer, as one for a resource that does not exist. So neither the answer nor its time says which
// ids and keys exist. Statements are counted, because a clock is reliable only on an idle machine.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { operationEndpoints } from '../../../src/operations/index.ts'
import { fixtures } from '../../operations/fixture.ts'
import { startLimitedApiOn, type LimitedApi } from '../../support/limited-api.ts'
import { get, paymentBody, post, postPayment, read } from '../../support/client.ts'
import { fetchApi } from '../../support/documented.ts'
import { everyRoute } from '../../support/routes.ts'
import { startService, type Service, type Tenant } from '../../support/service.ts'
import { startStatementLog, type StatementLog } from '../../support/statement-log.ts'
import { until } from '../../support/until.ts'

let service: Service
let log: StatementLog
let api: Pick<LimitedApi, 'url' | 'stop'>
let tenant: Tenant
let other: Tenant
/** An id of another tenant for each kind of resource. */
let theirs: Record<string, string>

beforeAll(async () => {
  service = await startService({ WEBHOOK_ALLOW_INSECURE: 'true' })
  ;[tenant, other] = [await service.createTenant(), await service.createTenant()]
  theirs = await makeEach()
  log = await startStatementLog(service.databaseUrl)
  api = await startLimitedApiOn(log.url)
})
afterAll(async () => {
  await api.stop()
  await log.close()
  await service.stop()
})

const idOf = ({ json }: { json: Record<string, unknown> }) => String(json['id'])

async function firstOf(path: string): Promise<string> {
  return await until(async () => {
    const { json } = await get(service.apiUrl, other, path)
    return (json['data'] as { id: string }[])[0]?.id
  })
}

async function makeEach(): Promise<Record<string, string>> {
  const { apiUrl } = service
  const url = { url: 'http://127.0.0.1:9/hooks' }
  const endpoint = await post(apiUrl, other, '/v1/webhook-endpoints', url)
  const key = randomUUID()
  await service.sendEvents()
  const payment = await postPayment(apiUrl, other, paymentBody(), { key })
  const path = `/v1/payments/${idOf(payment)}/refunds`
  const refund = await post(apiUrl, other, path, { amount: 5 })
  await postPayment(apiUrl, other, paymentBody({ payment_method: 'pm_card_createDispute' }))
  return {
    '/v1/payments/': idOf(payment),
    '/v1/refunds/': idOf(refund),
    '/v1/disputes/': await firstOf('/v1/disputes'),
    '/v1/ledger/transactions/': await firstOf('/v1/ledger/transactions'),
    '/v1/events/': await firstOf('/v1/events'),
    '/v1/webhook-endpoints/': idOf(endpoint),
    '/v1/webhook-deliveries/': await firstOf('/v1/webhook-deliveries'),
    '/v1/idempotency-keys/': key,
  }
}

/** Another id of the same form, which nobody has. */
const unknownLike = (id: string) =>
  id.replace(/.{6}$/, (end) => (end === '111111' ? '222222' : '111111'))

const bodies: Record<string, object | undefined> = {
  ...Object.fromEntries(
    operationEndpoints.map(({ operation, path }) => [
      `POST ${path}`,
      fixtures.find((fixture) => fixture.operation === operation.name)?.body,
    ]),
  ),
  'POST /v1/webhook-endpoints/:id/replay': { since: new Date(0).toISOString() },
}

async function send(method: string, path: string, id: string) {
  const body = method === 'POST' ? (bodies[`${method} ${path}`] ?? {}) : undefined
  const init = {
    method,
    headers: {
      authorization: `Bearer ${tenant.apiKey}`,
      ...(method === 'GET' ? {} : { 'idempotency-key': randomUUID() }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }
  log.statements.length = 0
  const { status, text } = await read(
    await fetchApi(`${api.url}${path.replace(/:(id|key)/, id)}`, init),
  )
  return { status, text: shown(text, id), statements: log.statements.filter(isOfRequest) }
}

/** Without what differs between any two requests. */
const shown = (text: string, id: string) =>
  text.replaceAll(id, 'the id').replaceAll(/\d{4}-[\d-]+T[\d:.]+Z/g, 'a time')

/** A key that its tenant has not used can be canceled. */
const CANCEL = '/v1/idempotency-keys/:key/cancel'

/** Not of the authentication, which is cached, nor of what a process does by itself at intervals. */
const isOfRequest = (statement: string) =>
  !/^\s*(?:listen|begin|commit|set local) ?|from api_keys as key|pg_control_system|rate_limits|::int as (active|stored)/.test(
    statement,
  )

const pathsOfTenants = everyRoute.flatMap(({ method, path, endpoint }) =>
  endpoint.access === 'tenant' ? [[method, path] as const] : [],
)
const named = pathsOfTenants.filter(([, path]) => /:(id|key)/.test(path))
const lists = pathsOfTenants.filter(([method, path]) => method === 'GET' && !path.includes(':'))

async function expectEqualWork(method: string, path: string): Promise<void> {
  const [, id = ''] = Object.entries(theirs).find(([prefix]) => path.startsWith(prefix)) ?? []
  expect(id).not.toBe('')
  // Caches and prepared statements are filled.
  await send(method, path, unknownLike(unknownLike(id)))

  const existing = await send(method, path, id)
  const unknown = await send(method, path, unknownLike(id))

  expect(unknown.status).toBe(path === CANCEL ? 200 : 404)
  expect(existing).toEqual(unknown)
  expect(unknown.statements.length).toBeGreaterThan(0)
}

test.each(named)(
  '%s %s answers a resource of another tenant like one that does not exist',
  expectEqualWork,
)

// Each statement names its tenant, too: security that a database does not have, or that a role passes
// by, is not what keeps tenants apart.
describe('without row-level security', () => {
  beforeAll(async () => {
    const { sql } = service.store
    const tables = await sql<{ name: string }[]>`
      select relname as name from pg_class where relrowsecurity
    `
    expect(tables.length).toBeGreaterThan(10)
    for (const { name } of tables) await sql`alter table ${sql(name)} disable row level security`
    tenant = await service.createTenant()
  })

  test.each(named)('%s %s is answered like one that does not exist', expectEqualWork)

  test.each(lists)('%s %s has nothing of another tenant', async (_method, path) => {
    const { status, text } = await get(api.url, tenant, path)

    expect(status).toBe(200)
    for (const id of Object.values(theirs)) expect(text).not.toContain(id)
  })

  test('two tenants with the same key have an answer each', async () => {
    const key = randomUUID()
    const before = await postPayment(service.apiUrl, other, paymentBody(), { key })
    const first = await postPayment(service.apiUrl, tenant, paymentBody({ amount: 500 }), { key })
    const again = await postPayment(service.apiUrl, tenant, paymentBody({ amount: 500 }), { key })
    const found = await get(service.apiUrl, tenant, `/v1/idempotency-keys/${key}`)

    expect(first.status).toBe(201)
    expect(again.text).toBe(first.text)
    expect(found.text).toContain(idOf(first))
    expect(idOf(first)).not.toBe(idOf(before))
  })

  test('two tenants with the same key have an endpoint each', async () => {
    const key = randomUUID()
    const create = (owner: Tenant) =>
      post(
        service.apiUrl,
        owner,
        '/v1/webhook-endpoints',
        { url: 'http://127.0.0.1:9/hooks' },
        { key },
      )
    const before = await create(other)
    const first = await create(tenant)
    const again = await create(tenant)

    expect(first.status).toBe(201)
    expect(idOf(first)).not.toBe(idOf(before))
    expect(again.text).toBe(first.text)
  })

  test('a reference that two tenants use names the own payment', async () => {
    const reference = randomUUID()
    const pay = (owner: Tenant) => postPayment(service.apiUrl, owner, paymentBody({ reference }))
    const before = await pay(other)
    const first = await pay(tenant)
    const second = await pay(tenant)

    expect(first.status).toBe(201)
    expect(second.status).toBe(409)
    expect(second.text).toContain(idOf(first))
    expect(second.text).not.toContain(idOf(before))
  })
})
