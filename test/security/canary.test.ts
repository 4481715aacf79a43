// Plants secrets in every place of every route, and searches all logs, jobs and tables for them.
import { randomBytes, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { showId } from '../../src/domain/resource-id.ts'
import { eventSources } from '../../src/provider/adapters.ts'
import { fetchApi } from '../support/documented.ts'
import { paymentBody, post, postPayment, read, type ApiResponse } from '../support/client.ts'
import type { Canary, CanaryPart } from './canary.ts'
import { ofExtras } from '../support/of-extras.ts'
import { startReceiver, type Receiver } from '../support/receiver.ts'
import { everyRoute } from '../support/routes.ts'
import { logIn, postLogIn } from '../support/console.ts'
import { startService, type OwnService, type Tenant } from '../support/service.ts'

const extras = (await ofExtras<{ readonly canary: Canary }>('canary.ts')).map(
  ({ canary }) => canary,
)

const word = () => randomBytes(12).toString('hex')

/**
 * Secrets of the settings, secrets that the service creates, and secrets that clients send by
 * mistake.
 */
const ADMIN_KEY = `adm_${word()}`
const STRIPE_KEY = `sk_test_${word()}`
const ENCRYPTION_KEY = randomBytes(32).toString('base64')
const CARDS = ['4242424242424242', '5555 5555 5555 4444', '3782-822463-10005']
const secretsByName = new Map<string, string>([
  ['the operator key', ADMIN_KEY],
  ['the key for the provider', STRIPE_KEY],
  ...extras.flatMap(({ secrets }) => secrets),
  ['the encryption key', ENCRYPTION_KEY],
  ['an unknown API key', `sk_test_${word()}`],
  ['an unknown operator key', `adm_${word()}`],
  ...CARDS.map((card, index) => [`card number ${index}`, card] as const),
])

let service: OwnService
let tenant: Tenant
let receiver: Receiver
let parts: readonly CanaryPart[]

beforeAll(async () => {
  receiver = await startReceiver()
  parts = await Promise.all(extras.map((extra) => extra.start()))
  service = await startService({
    ...Object.assign({}, ...parts.map(({ settings }) => settings)),
    ADMIN_API_KEY: ADMIN_KEY,
    CONSOLE: 'on',
    RATE_LIMIT_INVALID_KEYS: '0',
    STRIPE_SECRET_KEY: STRIPE_KEY,
    ENCRYPTION_KEYS: `canary:${ENCRYPTION_KEY}`,
    WEBHOOK_ALLOW_INSECURE: 'true',
    LOG_LEVEL: 'trace',
  })
  tenant = await service.createTenant()
  secretsByName.set('the API key', tenant.apiKey)
  await service.sendEvents()
})
afterAll(async () => {
  await service.stop()
  await receiver.stop()
  await Promise.all(parts.map((part) => part.stop()))
})

const FORM = 'application/x-www-form-urlencoded'
const FORM_MEMBERS = eventSources.flatMap(({ route }) => Object.keys(route.form?.shape ?? {}))
/** A card number, and an API key. */
const FEW = 2
/** How many requests had a secret. */
let planted = 0

/** Sends requests with every secret in every place that a client can write to. */
async function plantIn(
  method: string,
  path: string,
  authorization: string,
  most = Infinity,
): Promise<string[]> {
  const secrets = [...secretsByName.values()].slice(-most)
  planted += secrets.length
  const isForm = path.startsWith('/provider/webhooks/')
  const statuses = await Promise.all(
    secrets.map(async (secret, index) => {
      const inPath = path.replaceAll(/:\w+/g, encodeURIComponent(secret))
      const query = index % 2 === 0 ? `?cursor=${encodeURIComponent(secret)}` : ''
      const headers = {
        authorization,
        'content-type': isForm ? FORM : 'application/json',
        // One request in three has a valid key, so that its body is read.
        'idempotency-key': index % 3 === 0 ? randomUUID() : `"${secret}"`,
        'user-agent': secret,
        traceparent: secret,
        prefer: `wait=${secret}`,
        'request-timestamp': index % 3 === 0 ? 't=0' : secret,
        'stripe-signature': `t=1,v1=${secret}`,
        'x-forwarded-for': secret,
        cookie: `session=${secret}`,
      }
      const fields = { amount: secret, name: secret, description: secret, metadata: { a: secret } }
      const members = Object.fromEntries(FORM_MEMBERS.map((name) => [name, secret]))
      const form = new URLSearchParams({ ...members, [secret]: secret })

      const body = isForm
        ? String(form)
        : JSON.stringify({ ...paymentBody(), ...fields, [secret]: { [secret]: secret } })
      const request = { method, headers, ...(method === 'POST' ? { body } : {}) }
      return (await fetchApi(`${service.apiUrl}${inPath}${query}`, request)).status
    }),
  )
  return statuses.filter((status) => status >= 500).map((status) => `${status} ${method} ${path}`)
}

/** Adds the secrets that an answer reveals once to the searched secrets. */
function keepSecretsOf({ text }: ApiResponse): void {
  for (const [secret] of text.matchAll(/whsec_[A-Za-z0-9+/=]+/g)) {
    secretsByName.set(`webhook secret ${secretsByName.size}`, secret)
  }
  for (const [secret] of text.matchAll(/pi_\w+_secret_\w+/g)) {
    secretsByName.set(`client secret ${secretsByName.size}`, secret)
  }
  for (const [secret] of text.matchAll(/\bsk_\w{20,}/g)) {
    secretsByName.set(`created API key ${secretsByName.size}`, secret)
    secretsByName.set(`half of a created API key ${secretsByName.size}`, secret.slice(16, 32))
  }
}

async function askAsOperator(path: string, body: unknown): Promise<ApiResponse> {
  const headers = { authorization: `Bearer ${ADMIN_KEY}`, 'content-type': 'application/json' }
  const request = { method: 'POST', headers, body: JSON.stringify(body) }
  return await read(await fetchApi(`${service.apiUrl}${path}`, request))
}

async function runOperationsWithSecrets(): Promise<void> {
  const { apiUrl } = service
  const hook = { url: receiver.url, event_types: ['*'] }
  const endpoint = await post(apiUrl, tenant, '/v1/webhook-endpoints', hook)
  keepSecretsOf(endpoint)
  const { id } = endpoint.json as { id: string }
  keepSecretsOf(await post(apiUrl, tenant, `/v1/webhook-endpoints/${id}/rotate-secret`))

  const waiting = await postPayment(
    apiUrl,
    tenant,
    paymentBody({ payment_method: 'pm_card_threeDSecure2Required' }),
  )
  keepSecretsOf(waiting)
  const { provider } = waiting.json as { provider: { payment_id: string } }
  await service.control('POST', `payment_intents/${provider.payment_id}/authenticate`, {
    outcome: 'succeed',
  })

  const paid = await postPayment(apiUrl, tenant)
  await post(apiUrl, tenant, `/v1/payments/${String(paid.json['id'])}/refunds`, {})
  await postPayment(apiUrl, tenant, paymentBody({ payment_method: 'pm_card_chargeDeclined' }))
  for (const part of parts) await part.use(service)
  const created = await askAsOperator('/admin/tenants', {
    name: 'canary',
    scopes: ['payments:read'],
  })
  keepSecretsOf(created)
  await useConsole()
  await receiver.waitFor(6)
}

/** Logs an operator in, also by mistake with other secrets, and sends requests with the session. */
async function useConsole(): Promise<void> {
  for (const secret of secretsByName.values()) {
    if (secret !== ADMIN_KEY) await postLogIn(service.apiUrl, { key: secret })
  }
  const browser = await logIn(service.apiUrl, ADMIN_KEY)
  secretsByName.set('session token', browser.cookie.split('=')[1] ?? '')
  secretsByName.set('CSRF token', browser.csrfToken)
  await browser.get('/console/session')
  await browser.send('POST', '/admin/tenants', { name: 'console', scopes: ['payments:read'] })
  const ended = await logIn(service.apiUrl, ADMIN_KEY)
  secretsByName.set('token of an ended session', ended.cookie.split('=')[1] ?? '')
  await ended.send('DELETE', '/console/session')
}

/** Yields each row of each table as JSON. */
async function* everyRow(): AsyncGenerator<{ table: string; row: Record<string, unknown> }> {
  const { sql } = service.store
  const tables = await sql<{ table: string; quoted: string }[]>`
    select n.nspname || '.' || c.relname as table, c.oid::regclass::text as quoted
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'm') and n.nspname not like 'pg\\_%' and n.nspname <> 'information_schema'
  `
  for (const { table, quoted } of tables) {
    const rows = await sql.unsafe<{ row: unknown }[]>(`select to_jsonb(t) as row from ${quoted} t`)
    for (const { row } of rows) {
      const parsed = (typeof row === 'string' ? JSON.parse(row) : row) as Record<string, unknown>
      yield { table, row: parsed }
    }
  }
}

/** The encodings of a secret. */
function spellings(secret: string): string[] {
  const bytes = Buffer.from(secret)
  const digits = secret.replaceAll(/[ -]/g, '')
  return [
    secret,
    digits,
    bytes.toString('hex'),
    bytes.toString('base64'),
    encodeURIComponent(secret),
  ]
}

/** Returns a search for the secrets so far, which names those that are in a text. */
function searchForSecrets(): (text: string) => string[] {
  const searched = [...secretsByName].map(
    ([name, secret]) => [name, [...new Set(spellings(secret))]] as const,
  )
  return (text) =>
    searched
      .filter(([, own]) => own.some((spelling) => text.includes(spelling)))
      .map(([name]) => name)
}

test('no secret that passes through a route is in a log, a job or a table', async () => {
  const faults: string[] = []
  for (const { method, path, endpoint } of everyRoute) {
    const own = endpoint.access === 'admin' ? ADMIN_KEY : tenant.apiKey
    const invalidKey = `Bearer ${[...secretsByName.values()].join('')}`
    // Only a POST has a body. The rest of a request is logged alike for each route.
    const most = method === 'POST' ? Infinity : FEW
    faults.push(...(await plantIn(method, path, `Bearer ${own}`, most)))
    // Nothing of it is read but its path and its headers.
    faults.push(...(await plantIn(method, path, invalidKey, FEW)))
  }
  await runOperationsWithSecrets()

  const secretsIn = searchForSecrets()
  const rows: string[] = []
  let valuesSearched = 0
  for await (const { table, row } of everyRow()) {
    for (const [column, value] of Object.entries(row)) {
      valuesSearched += 1
      for (const name of secretsIn(typeof value === 'string' ? value : JSON.stringify(value))) {
        rows.push(`${name} in ${table}.${column}`)
      }
    }
  }
  const lines = [service.api, service.worker, service.provider].flatMap((process) => process.lines)
  const inLines = lines.flatMap((line) => secretsIn(line).map((name) => `${name} in ${line}`))

  expect([...new Set(faults)]).toEqual([])
  expect([...new Set(rows)]).toEqual([])
  expect(inLines.slice(0, 5)).toEqual([])
  // Proves that there was something to search.
  expect(valuesSearched).toBeGreaterThan(1_000)
  expect(planted).toBeGreaterThan(everyRoute.length * CARDS.length)
  expect(lines.length).toBeGreaterThan(planted)
  expect([...secretsByName.keys()].join()).toMatch(
    /webhook secret .*client secret .*created API key.*session token/,
  )
})

test('every log line has only allowed fields', () => {
  const lines = [service.api, service.worker].flatMap((process) => process.lines)
  const unlisted = lines.flatMap(
    (line) => /"unlisted":\[([^\]]*)\]/.exec(line)?.[1]?.split(',') ?? [],
  )

  expect([...new Set(unlisted)]).toEqual([])
})

test('the log has the id of the API key of a request, and no part of its secret', async () => {
  const { json } = await askAsOperator('/admin/tenants', { name: 'Shop' })
  const { id, api_key: key } = json as { id: string; api_key: { id: string; secret: string } }
  const mistyped = { id, apiKey: `${key.secret.slice(0, -1)}_` }
  const paid = await postPayment(service.apiUrl, { id, apiKey: key.secret })
  const refused = await postPayment(service.apiUrl, mistyped)
  const requestId = refused.headers.get('request-id') ?? ''
  await service.api.waitForLine((line) => line.includes(requestId))
  const lines = [...service.api.lines, ...service.worker.lines].join('\n')

  expect([paid.status, refused.status]).toEqual([201, 401])
  expect(lines).toContain(`"key":"${key.id}"`)
  expect(lines).not.toContain(key.secret.slice(0, 16))
  expect(lines).not.toContain(key.secret.slice(16, 24))
})

test('each request and each phase has one log line', async () => {
  const before = service.api.lines.length
  const paid = await postPayment(service.apiUrl, tenant, undefined, {
    headers: { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' },
  })

  const requestId = paid.headers.get('request-id') ?? ''
  await service.api.waitForLine((line) => line.includes(requestId))

  const requestLines = service.api.lines.slice(before).filter((line) => line.includes(requestId))
  expect(requestLines).toHaveLength(1)
  expect(JSON.parse(requestLines[0] ?? '')).toMatchObject({
    msg: 'request',
    method: 'POST',
    route: '/v1/payments',
    tenant: showId('tnt', tenant.id),
    status: 201,
    trace: '4bf92f3577b34da6a3ce929d0e0e4736',
  })

  const [{ id: operation } = { id: '' }] = await service.store.sql<{ id: string }[]>`
    select id from idempotency_keys where tenant_id = ${tenant.id} order by created_at desc limit 1
  `
  await service.worker.waitForLine(
    (line) => line.includes(showId('op', operation)) && line.includes('-> finished'),
  )
  const phases = service.worker.lines
    .filter((line) => line.includes(showId('op', operation)))
    .map((line) => (JSON.parse(line) as { msg: string }).msg)
  expect(phases).toEqual([
    'started -> authorized',
    'authorized -> captured',
    'captured -> finished',
  ])
})
