// What an API key allows, and how unusable keys are refused.
import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from '@jest/globals'
import { makeApiKey } from '../../../src/db/tenants/api-keys.ts'
import { setTenantDisabled } from '../../../src/db/tenants/tenants.ts'
import { scopes, type Scope } from '../../../src/domain/tenants/api-key.ts'
import { parseTenantId } from '../../../src/domain/tenants/tenant.ts'
import { fetchApi } from '../../support/documented.ts'
import { get, paymentBody, postPayment, read, type ApiResponse } from '../../support/client.ts'
import { expectProblem, stablePartsOf } from '../payments.ts'
import { adminApi } from '../../support/for-file.ts'
import { everyRoute } from '../../support/routes.ts'

const api = adminApi()

interface CreatedTenant {
  readonly id: string
  readonly api_key: { readonly id: string; readonly secret: string }
}

async function createTenant(granted: readonly string[] = ['*']): Promise<CreatedTenant> {
  const { json } = await api.post('/admin/tenants', { name: 'Shop', scopes: granted })
  return json as unknown as CreatedTenant
}

const ask = (secret: string) => get(api.url, { id: '', apiKey: secret }, '/v1/payments')

describe('an unusable key', () => {
  const unusable: [string, (created: CreatedTenant) => Promise<string> | string][] = [
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
      'belongs to a disabled tenant',
      async ({ id, api_key: { secret } }) => {
        // As always, another process does this. This process learns of it within milliseconds.
        await setTenantDisabled(api.t.engine.store.sql, parseTenantId(id) ?? '', true)
        while ((await ask(secret)).status === 200);
        return secret
      },
    ],
  ]

  test.each(unusable)('is refused like any other when it %s', async (_, makeUnusable) => {
    const created = await createTenant()
    expect((await ask(created.api_key.secret)).status).toBe(200)
    const sent = await makeUnusable(created)

    const answer = await ask(sent)

    expectProblem(answer, 'api-key-invalid')
    expect(stablePartsOf(answer)).toEqual(stablePartsOf(await ask('sk_123456789')))
  })
})

describe('rotation', () => {
  test('succeeds once when several requests are concurrent', async () => {
    const { api_key: old } = await createTenant()
    const path = `/admin/keys/${old.id}/rotate`
    const answers = await Promise.all([api.post(path), api.post(path), api.post(path)])

    const statuses = answers.map(({ status }) => status)
    expect(statuses.toSorted((one, other) => one - other)).toEqual([201, 409, 409])
  })
})

const routesOfTenants = everyRoute.flatMap(({ endpoint, ...route }) =>
  endpoint.access === 'tenant' ? [{ ...route, scope: endpoint.scope }] : [],
)

describe('scopes', () => {
  /** For each scope, a key with only that scope and a key with all other scopes. */
  const keys = new Map<string, string>()
  const without = (scope: Scope) => scopes.filter((other) => other !== scope)

  beforeAll(async () => {
    for (const scope of scopes) {
      keys.set(scope, (await createTenant([scope])).api_key.secret)
      keys.set(`not ${scope}`, (await createTenant(without(scope))).api_key.secret)
    }
  })

  async function send(method: string, path: string, secret = ''): Promise<ApiResponse> {
    const url = `${api.url}${path.replace(/:\w+/, 'any')}`
    return await read(
      await fetchApi(url, { method, headers: { authorization: `Bearer ${secret}` } }),
    )
  }

  test('every scope is needed by a route', () => {
    const needed = new Set(routesOfTenants.map(({ scope }) => scope))
    expect([...needed].toSorted()).toEqual([...scopes].toSorted())
  })

  test('a route that changes something needs a write scope, and a route that reads needs a read scope', () => {
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
    expect(refused.json).toMatchObject({
      status: 403,
      detail: `This request needs an API key with the scope ${scope}.`,
    })
    expect(refused.headers.get('www-authenticate')).toBe(
      `Bearer realm="atomic-payments", error="insufficient_scope", scope="${scope}"`,
    )
    expect([200, 400, 404]).toContain(allowed.status)
  })

  test('a key without the scope stores nothing and uses up no idempotency key', async () => {
    const tenant = await createTenant(['payments:read'])
    const able = await api.post(`/admin/tenants/${tenant.id}/keys`, { scopes: ['payments:write'] })
    const key = randomUUID()
    const everything = () => api.t.engine.store.sql`
      select
        (select count(*) from payments) as payments, (select count(*) from events) as events,
        (select count(*) from idempotency_keys) as keys, (select count(*) from atomic_jobs.job) as jobs
    `
    const before = await everything()

    const reader = { id: tenant.id, apiKey: tenant.api_key.secret }
    const refused = await postPayment(api.url, reader, paymentBody({ amount: 1 }), { key })
    expectProblem(refused, 'scope-missing')
    expect(await everything()).toEqual(before)

    const writer = { id: tenant.id, apiKey: String(able.json['secret']) }
    const accepted = await postPayment(api.url, writer, paymentBody({ amount: 200 }), { key })
    expect(accepted.status).toBe(202)
  })

  test('a retry with another API key of the tenant is the same operation, and a key without the scope learns nothing about it', async () => {
    const { id, api_key: old } = await createTenant()
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
