// How operators create, list, rotate and revoke tenants and API keys, with the rights of the
// service role. The secret of a key is in one answer and nowhere else.
import { randomUUIDv7 } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { showKeyId } from '../../../src/domain/tenants/api-key.ts'
import { showTenantId } from '../../../src/domain/tenants/tenant.ts'
import { startAdminApi, type AdminApi } from '../../support/admin.ts'
import { expectProblem } from '../payments.ts'

let api: AdminApi

beforeAll(async () => {
  api = await startAdminApi()
})
afterAll(() => api.stop())

const SECRET = /^sk_atomic_[0-9A-Za-z]{38}$/
const TIME = expect.stringMatching(/^\d{4}-.*Z$/)

interface ShownKey {
  readonly id: string
  readonly secret: string
  readonly status: string
}

async function createTenant(): Promise<{ id: string; api_key: ShownKey }> {
  const { json } = await api.post('/admin/tenants', { name: 'Shop' })
  return json as unknown as { id: string; api_key: ShownKey }
}

async function listKeys(tenant: string): Promise<ShownKey[]> {
  const { json } = await api.get(`/admin/tenants/${tenant}/keys`)
  return json['data'] as ShownKey[]
}

describe('a tenant', () => {
  test('is created with an API key for every scope, and is listed', async () => {
    const answer = await api.post('/admin/tenants', { name: ' Shop ' })
    const { api_key: key, ...tenant } = answer.json
    const list = await api.get('/admin/tenants?limit=1')

    expect(answer.status).toBe(201)
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(tenant).toEqual({
      id: expect.stringMatching(/^tnt_/),
      object: 'tenant',
      name: 'Shop',
      fees: { basis_points: 0, fixed_minor: 0 },
      providers: null,
      requires_reference: false,
      created_at: TIME,
      disabled_at: null,
    })
    expect(key).toMatchObject({ tenant: tenant['id'], scopes: ['*'], status: 'active' })
    expect(list.json).toMatchObject({ data: [tenant], has_more: true })
    const { id } = key as ShownKey
    expect(await api.trailOf(String(tenant['id']))).toEqual([
      {
        actor: 'alice',
        action: 'tenant.create',
        details: { result: 'made', name: 'Shop', key: id, scopes: ['*'] },
      },
    ])
  })

  test.each([
    ['no name', {}, 'invalid-field'],
    ['an empty name', { name: '  ' }, 'invalid-field'],
    ['a name that is too long', { name: 'x'.repeat(201) }, 'invalid-field'],
    ['a name with two lines', { name: 'Shop\nforged line' }, 'invalid-field'],
    ['no scope', { name: 'Shop', scopes: [] }, 'invalid-field'],
    ['an unknown scope', { name: 'Shop', scopes: ['payments:*'] }, 'invalid-field'],
    ['a repeated scope', { name: 'Shop', scopes: ['*', '*'] }, 'invalid-field'],
    ['an unknown field', { name: 'Shop', fees: 1 }, 'unknown-field'],
  ] as const)('is not created with %s', async (_, body, type) => {
    const before = await api.get('/admin/tenants?limit=1')
    expectProblem(await api.post('/admin/tenants', body), type)
    expect((await api.get('/admin/tenants?limit=1')).text).toBe(before.text)
  })
})

describe('a key', () => {
  test('is created with its scopes, and listed without its secret', async () => {
    const tenant = await createTenant()
    const granted = ['payments:read', 'refunds:write']
    const added = await api.post(`/admin/tenants/${tenant.id}/keys`, { scopes: granted })
    const { secret, ...shown } = added.json

    expect(added.status).toBe(201)
    expect(secret).toMatch(SECRET)
    expect(shown).toEqual({
      id: expect.stringMatching(/^key_/),
      object: 'api_key',
      tenant: tenant.id,
      prefix: String(secret).slice(0, 16),
      scopes: granted,
      status: 'active',
      created_at: TIME,
      expires_at: null,
      revoked_at: null,
    })
    expect(await listKeys(tenant.id)).toMatchObject([shown, { id: tenant.api_key.id }])
    expect((await api.trailOf(tenant.id)).at(-1)).toEqual({
      actor: 'alice',
      action: 'api_key.add',
      details: { result: 'made', key: shown['id'], scopes: granted },
    })
  })

  test('is rotated: the old key works for a day, and the new key has the same scopes', async () => {
    const { id, api_key: old } = await createTenant()
    const rotated = await api.post(`/admin/keys/${old.id}/rotate`, undefined, 'bob')

    expect(rotated.status).toBe(201)
    expect(rotated.json).toMatchObject({ replaces: old.id, tenant: id, scopes: ['*'] })
    expect(rotated.json['secret']).toMatch(SECRET)
    expect(rotated.json['secret']).not.toBe(old.secret)
    const [, retiring] = (await listKeys(id)) as unknown as Record<string, string>[]
    expect(retiring).toMatchObject({ id: old.id, status: 'retiring' })
    const left = Date.parse(retiring?.['expires_at'] ?? '') - Date.now()
    expect(Math.abs(left - 24 * 3_600_000)).toBeLessThan(60_000)
    expect(await api.trailOf(old.id)).toEqual([
      {
        actor: 'bob',
        action: 'api_key.rotate',
        details: { result: 'rotated', key: rotated.json['id'], grace_seconds: 86_400 },
      },
    ])
  })

  test.each(['rotated', 'expired', 'revoked'])('that is %s is not rotated', async (state) => {
    const { id, api_key: key } = await createTenant()
    if (state === 'revoked') await api.remove(`/admin/keys/${key.id}`)
    else
      await api.post(
        `/admin/keys/${key.id}/rotate`,
        state === 'expired' ? { grace_seconds: 0 } : {},
      )
    const before = await listKeys(id)

    expectProblem(await api.post(`/admin/keys/${key.id}/rotate`), 'api-key-ended')

    expect(await listKeys(id)).toEqual(before)
    expect((await api.trailOf(key.id)).at(-1)).toMatchObject({
      details: { refused: 'api-key-ended' },
    })
  })

  test.each([-1, 604_801, 0.5, '60'])('is not rotated with grace_seconds %j', async (grace) => {
    const { api_key: key } = await createTenant()
    const answer = await api.post(`/admin/keys/${key.id}/rotate`, { grace_seconds: grace })
    expectProblem(answer, 'invalid-field')
  })

  test('is revoked once, and a repetition does not change the time', async () => {
    const { id, api_key: key } = await createTenant()
    const first = await api.remove(`/admin/keys/${key.id}`)
    const revoked = await listKeys(id)
    const second = await api.remove(`/admin/keys/${key.id}`)

    expect([first.status, second.status]).toEqual([204, 204])
    expect(revoked).toMatchObject([{ id: key.id, status: 'revoked', revoked_at: TIME }])
    expect(await listKeys(id)).toEqual(revoked)
    expect(await api.trailOf(key.id)).toMatchObject([
      { action: 'api_key.revoke', details: { result: 'revoked' } },
      { action: 'api_key.revoke', details: { result: 'revoked before' } },
    ])
  })

  test('that is retiring can be revoked', async () => {
    const { id, api_key: key } = await createTenant()
    await api.post(`/admin/keys/${key.id}/rotate`)
    await api.remove(`/admin/keys/${key.id}`)
    expect(await listKeys(id)).toMatchObject([{ status: 'active' }, { status: 'revoked' }])
  })
})

test.each([
  ['an unknown tenant', () => api.get(`/admin/tenants/${showTenantId(randomUUIDv7())}/keys`)],
  ['something that is not an id', () => api.post('/admin/tenants/any/keys')],
  ['an unknown API key', () => api.post(`/admin/keys/${showKeyId(randomUUIDv7())}/rotate`)],
  [
    'a tenant instead of an API key',
    () => api.remove(`/admin/keys/${showTenantId(api.t.tenantId)}`),
  ],
])('returns 404 for a path with %s', async (_, ask) => {
  expectProblem(await ask(), 'resource-not-found')
})

test.each(['tenants', 'keys'])(
  'the list of %s has pages, and refuses unknown cursors',
  async (list) => {
    const { id } = await createTenant()
    await api.post(`/admin/tenants/${id}/keys`)
    const path = list === 'keys' ? `/admin/tenants/${id}/keys` : '/admin/tenants'
    const first = await api.get(`${path}?limit=1`)
    const [newest] = first.json['data'] as { id: string }[]
    const next = await api.get(`${path}?limit=1&starting_after=${newest?.id}`)
    const back = await api.get(`${path}?ending_before=${(next.json['data'] as ShownKey[])[0]?.id}`)

    expect(first.json['has_more']).toBe(true)
    expect(back.json['data']).toEqual(first.json['data'])
    const strange = list === 'keys' ? showKeyId(randomUUIDv7()) : showTenantId(randomUUIDv7())
    expectProblem(await api.get(`${path}?starting_after=${strange}`), 'invalid-query')
  },
)

test('no table contains the secret of an API key', async () => {
  const { id, api_key: first } = await createTenant()
  const added = await api.post(`/admin/tenants/${id}/keys`)
  const rotated = await api.post(`/admin/keys/${first.id}/rotate`)
  const secrets = [first.secret, String(added.json['secret']), String(rotated.json['secret'])]
  const { sql } = api.t.engine.store

  const tables = await sql<{ name: string }[]>`
    select quote_ident(schemaname) || '.' || quote_ident(tablename) as name from pg_tables
    where schemaname in ('public', 'atomic_jobs')
  `
  const tablesWithSecrets = []
  for (const { name } of tables) {
    // Not even half of a secret may be stored.
    const parts = secrets.map((secret) => secret.slice(16, 32))
    const [result] = await sql.unsafe<{ hasSecret: boolean }[]>(
      `select exists (select from ${name} as r where r::text ~ '${parts.join('|')}') as "hasSecret"`,
    )
    if (result?.hasSecret === true) tablesWithSecrets.push(name)
  }

  expect(tables.length).toBeGreaterThan(20)
  expect(tablesWithSecrets).toEqual([])
})
