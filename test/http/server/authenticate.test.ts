// What an API key opens, and what is said when it does not: a key that cannot be used looks the same
// whatever ails it, and one without the scope changes nothing.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { makeApiKey } from '../../../src/db/tenants/api-keys.ts'
import { setTenantDisabled } from '../../../src/db/tenants/tenants.ts'
import { scopes, type Scope } from '../../../src/domain/tenants/api-key.ts'
import { parseTenantId } from '../../../src/domain/tenants/tenant.ts'
import { routes } from '../../../src/http/server/routes.ts'
import { fetchApi } from '../../support/documented.ts'
import { OPERATORS, startAdminApi, type AdminApi } from '../../support/admin.ts'
import { get, paymentBody, postPayment, read, type ApiResponse } from '../../support/client.ts'
import { startService } from '../../support/service.ts'
import { expectProblem } from '../payments.ts'

let api: AdminApi

beforeAll(async () => {
  api = await startAdminApi()
})
afterAll(() => api.stop())

interface MadeTenant {
  readonly id: string
  readonly api_key: { readonly id: string; readonly secret: string }
}

async function makeTenant(granted: readonly string[] = ['*']): Promise<MadeTenant> {
  const { json } = await api.post('/admin/tenants', { name: 'Shop', scopes: granted })
  return json as unknown as MadeTenant
}

const ask = (secret: string) => get(api.url, { id: '', apiKey: secret }, '/v1/payments')

/** What an answer says, without what is another at each request. */
const saidBy = ({ status, text, headers }: ApiResponse) => ({
  status,
  text,
  headers: [...headers].filter(([name]) => !['date', 'request-id'].includes(name)),
})

describe('a key that cannot be used', () => {
  const ailing: [string, (made: MadeTenant) => Promise<string> | string][] = [
    ['is malformed', () => 'nonsense'],
    ['is unknown', () => makeApiKey()],
    ['has a wrong checksum', ({ api_key: { secret } }) => `${secret.slice(0, -6)}000000`],
    ['has another secret', ({ api_key: { secret } }) => `${secret.slice(0, 20)}${'0'.repeat(28)}`],
    [
      'is revoked',
      async ({ api_key: { id, secret } }) => {
        await api.remove(`/admin/keys/${id}`)
        return secret
      },
    ],
    [
      'has expired',
      async ({ api_key: { id, secret } }) => {
        await api.post(`/admin/keys/${id}/rotate`, { grace_seconds: 0 })
        return secret
      },
    ],
    [
      'is of a disabled tenant',
      async ({ id, api_key: { secret } }) => {
        // By another process, as it is always done: this one is told within milliseconds.
        await setTenantDisabled(api.t.engine.store.sql, parseTenantId(id) ?? '', true)
        while ((await ask(secret)).status === 200);
        return secret
      },
    ],
  ]

  test.each(ailing)('is refused like any other when it %s', async (_, ail) => {
    const made = await makeTenant()
    expect((await ask(made.api_key.secret)).status).toBe(200)
    const sent = await ail(made)

    const answer = await ask(sent)

    expectProblem(answer, 'api-key-invalid')
    expect(saidBy(answer)).toEqual(saidBy(await ask('sk_123456789')))
  })
})

describe('rotation', () => {
  test('makes a key that works beside the old one until that expires', async () => {
    const { api_key: old } = await makeTenant()
    const rotated = await api.post(`/admin/keys/${old.id}/rotate`)
    const secret = String(rotated.json['secret'])

    expect([(await ask(old.secret)).status, (await ask(secret)).status]).toEqual([200, 200])
  })

  test('of which one alone wins when two come at once', async () => {
    const { api_key: old } = await makeTenant()
    const path = `/admin/keys/${old.id}/rotate`
    const answers = await Promise.all([api.post(path), api.post(path), api.post(path)])

    const statuses = answers.map(({ status }) => status)
    expect(statuses.toSorted((one, other) => one - other)).toEqual([201, 409, 409])
  })
})

const routesOfTenants = routes.flatMap(({ path, get: read_, post, delete: remove }) =>
  [
    { method: 'GET', path, served: read_ },
    { method: 'POST', path, served: post },
    { method: 'DELETE', path, served: remove },
  ].flatMap(({ served, ...route }) =>
    served?.access === 'tenant' ? [{ ...route, scope: served.scope }] : [],
  ),
)

describe('scopes', () => {
  /** A key for each scope, and one for all of the others. */
  const keys = new Map<string, string>()
  const without = (scope: Scope) => scopes.filter((other) => other !== scope)

  beforeAll(async () => {
    for (const scope of scopes) {
      keys.set(scope, (await makeTenant([scope])).api_key.secret)
      keys.set(`not ${scope}`, (await makeTenant(without(scope))).api_key.secret)
    }
  })

  async function send(method: string, path: string, secret = ''): Promise<ApiResponse> {
    const url = `${api.url}${path.replace(/:\w+/, 'any')}`
    return await read(
      await fetchApi(url, { method, headers: { authorization: `Bearer ${secret}` } }),
    )
  }

  test('every scope is needed by some route', () => {
    const needed = new Set(routesOfTenants.map(({ scope }) => scope))
    expect([...needed].toSorted()).toEqual([...scopes].toSorted())
  })

  test('what changes something needs a scope that writes, and what reads one that reads', () => {
    const kinds = routesOfTenants.map(({ method, scope }) => [
      method === 'GET',
      scope.split(':')[1],
    ])
    expect(kinds.filter(([reads, kind]) => kind !== (reads === true ? 'read' : 'write'))).toEqual(
      [],
    )
  })

  test.each(routesOfTenants)('$method $path needs $scope, and no other', async (route) => {
    const { method, path, scope } = route
    const refused = await send(method, path, keys.get(`not ${scope}`))
    const allowed = await send(method, path, keys.get(scope))

    expectProblem(refused, 'scope-missing')
    expect(refused.json).toMatchObject({ status: 403, detail: `The scope ${scope} is needed.` })
    expect(refused.headers.get('www-authenticate')).toBe(
      `Bearer realm="atomic-payments", error="insufficient_scope", scope="${scope}"`,
    )
    expect([200, 400, 404]).toContain(allowed.status)
  })

  test('a key without the scope stores nothing, and uses up no idempotency key', async () => {
    const tenant = await makeTenant(['payments:read'])
    const able = await api.post(`/admin/tenants/${tenant.id}/keys`, { scopes: ['payments:write'] })
    const key = randomUUID()
    const everything = () => api.t.engine.store.sql`
      select
        (select count(*) from payments) as payments, (select count(*) from events) as events,
        (select count(*) from idempotency_keys) as keys, (select count(*) from pgboss.job) as jobs
    `
    const before = await everything()

    const reader = { id: tenant.id, apiKey: tenant.api_key.secret }
    const refused = await postPayment(api.url, reader, paymentBody({ amount: 1 }), { key })
    expectProblem(refused, 'scope-missing')
    expect(await everything()).toEqual(before)

    const writer = { id: tenant.id, apiKey: String(able.json['secret']) }
    const accepted = await postPayment(api.url, writer, paymentBody({ amount: 2 }), { key })
    expect(accepted.status).toBe(202)
  })

  test('a retry under another key of its tenant is the same operation, and a key without the scope learns nothing of it', async () => {
    const { id, api_key: old } = await makeTenant()
    const rotated = await api.post(`/admin/keys/${old.id}/rotate`)
    const able = await api.post(`/admin/tenants/${id}/keys`, { scopes: ['payments:read'] })
    const key = randomUUID()
    const pay = (apiKey: unknown) =>
      postPayment(api.url, { id, apiKey: String(apiKey) }, paymentBody(), { key })

    const first = await pay(old.secret)
    const retry = await pay(rotated.json['secret'])
    const refused = await pay(able.json['secret'])

    expect(first.status).toBe(202)
    expectProblem(retry, 'operation-in-progress')
    expectProblem(refused, 'scope-missing')
    expect(refused.headers.get('idempotency-key-expires')).toBeNull()
    const { sql } = api.t.engine.store
    expect(await sql`select 1 from idempotency_keys where key = ${key}`).toHaveLength(1)
  })
})

test('the log names the key of a request by its id, and holds no part of a secret', async () => {
  const service = await startService({ ADMIN_API_KEY: OPERATORS.alice })
  const made = await fetchApi(`${service.apiUrl}/admin/tenants`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${OPERATORS.alice}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify({ name: 'Shop' }),
  })
  const { id, api_key: key } = (await made.json()) as MadeTenant
  const used = { id, apiKey: key.secret }
  const mistyped = { id, apiKey: `${key.secret.slice(0, -1)}_` }
  const paid = await postPayment(service.apiUrl, used)
  const refused = await postPayment(service.apiUrl, mistyped)
  await service.api.waitForLine((line) => line.includes('"status":401'))
  const lines = [...service.api.lines, ...service.worker.lines].join('\n')
  await service.stop()

  expect([paid.status, refused.status]).toEqual([201, 401])
  expect(lines).toContain(`"key":"${key.id}"`)
  expect(lines).not.toContain(key.secret.slice(0, 16))
  expect(lines).not.toContain(key.secret.slice(16, 24))
})
