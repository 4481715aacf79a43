// How operators manage tenants, their API keys and their customers.
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from '@jest/globals'
import { adminApi } from '../../support/for-file.ts'
import { expectProblem } from '../payments.ts'

const api = adminApi()

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

test('a tenant is created with an API key for every scope, and is listed', async () => {
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

describe('customers', () => {
  const makeTenant = async () => (await createTenant()).id

  const newCustomer = () => `cus_${randomUUID().replaceAll('-', '')}`

  async function customersOf(tenant: string): Promise<string[]> {
    const { json } = await api.get(`/admin/tenants/${tenant}/customers?limit=100`)
    return (json['data'] as { id: string }[]).map(({ id }) => id)
  }

  test('assigns many customers at once, and again without a change', async () => {
    const tenant = await makeTenant()
    const customers = [newCustomer(), newCustomer()].toSorted()
    const path = `/admin/tenants/${tenant}/customers`

    const first = await api.post(path, { customers })
    const before = await api.get(path)
    const second = await api.post(path, { customers: [...customers, ...customers] })

    expect(first).toMatchObject({ status: 200, json: { object: 'assignment', tenant, customers } })
    expect(second.status).toBe(200)
    expect((await api.get(path)).text).toBe(before.text)
    expect(before.json).toMatchObject({
      data: customers
        .toReversed()
        .map((id) => ({ id, object: 'customer', tenant, assigned_at: expect.any(String) })),
      has_more: false,
    })
    expect(await api.trailOf(tenant)).toContainEqual({
      actor: 'alice',
      action: 'customers.assign',
      details: { result: 'assigned', customers },
    })
  })

  test('moves a customer of another tenant only when `from` names that tenant', async () => {
    const [owner, other, third] = [await makeTenant(), await makeTenant(), await makeTenant()]
    const [customer, fresh] = [newCustomer(), newCustomer()]
    await api.post(`/admin/tenants/${owner}/customers`, { customers: [customer] })
    const path = `/admin/tenants/${other}/customers`

    const refusals = [
      await api.post(path, { customers: [fresh, customer] }),
      await api.post(path, { customers: [customer], from: third }),
      await api.post(path, { customers: [customer], from: other }),
    ]
    for (const refused of refusals) {
      expectProblem(refused, 'customer-of-another-tenant')
      expect(refused.json['detail']).toBe(`${customer} belongs to ${owner}.`)
    }
    expect(await customersOf(other)).toEqual([])

    const moved = await api.post(path, { customers: [customer, fresh], from: owner })
    expect(moved.status).toBe(200)
    expect(await customersOf(other)).toEqual([customer, fresh].toSorted().toReversed())
    expect(await customersOf(owner)).toEqual([])
    expect(await api.trailOf(other)).toEqual(
      expect.arrayContaining([
        {
          actor: 'alice',
          action: 'customers.assign',
          details: { refused: 'customer-of-another-tenant' },
        },
        {
          actor: 'alice',
          action: 'customers.assign',
          details: { result: 'assigned', customers: [customer, fresh], from: owner },
        },
      ]),
    )
  })

  test('gives a customer to one of two operators who assign it at the same moment', async () => {
    const tenants = await Promise.all(Array.from({ length: 4 }, makeTenant))
    const customers = [newCustomer(), newCustomer()]

    const answers = await Promise.all(
      tenants.map((tenant, index) =>
        api.post(`/admin/tenants/${tenant}/customers`, {
          customers: index % 2 === 0 ? customers : customers.toReversed(),
        }),
      ),
    )

    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(3)
  })

  test.each<[string, unknown]>([
    ['no customers', {}],
    ['an empty list', { customers: [] }],
    ['more than 1,000 customers', { customers: Array(1_001).fill('cus_1') }],
    ['a customer with a space', { customers: ['cus 1'] }],
    ['a customer that is a number', { customers: [1] }],
    ['a tenant in `from` that is none', { customers: ['cus_1'], from: 'cus_1' }],
  ])('refuses %s, and assigns nothing', async (_what, body) => {
    const tenant = await makeTenant()

    expectProblem(await api.post(`/admin/tenants/${tenant}/customers`, body), 'invalid-field')
    expect(await customersOf(tenant)).toEqual([])
  })
})
