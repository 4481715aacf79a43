// How operators say which tenant may charge which customer of the provider, with the rights of the
// service role.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { showTenantId } from '../../../src/domain/tenants/tenant.ts'
import { startAdminApi, type AdminApi } from '../../support/admin.ts'
import type { ProblemType } from '../../../src/domain/problems/problems.ts'
import { expectProblem } from '../payments.ts'

let api: AdminApi

beforeAll(async () => {
  api = await startAdminApi()
})
afterAll(() => api.stop())

const makeTenant = async () =>
  String((await api.post('/admin/tenants', { name: 'Shop' })).json['id'])

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

test('is listed page by page', async () => {
  const tenant = await makeTenant()
  const path = `/admin/tenants/${tenant}/customers`
  await api.post(path, { customers: ['cus_page_1', 'cus_page_2', 'cus_page_3'] })

  const page = await api.get(`${path}?limit=1&starting_after=cus_page_3`)

  expect(page.json).toMatchObject({ data: [{ id: 'cus_page_2' }], has_more: true })
  expectProblem(await api.get(`${path}?starting_after=cus_none`), 'invalid-query')
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

test.each<[string, unknown, ProblemType]>([
  ['no customers', {}, 'invalid-field'],
  ['an empty list', { customers: [] }, 'invalid-field'],
  ['more than 1,000 customers', { customers: Array(1_001).fill('cus_1') }, 'invalid-field'],
  ['a customer with a space', { customers: ['cus 1'] }, 'invalid-field'],
  ['a customer that is a number', { customers: [1] }, 'invalid-field'],
  ['a tenant in `from` that is none', { customers: ['cus_1'], from: 'cus_1' }, 'invalid-field'],
  ['an unknown field', { customers: ['cus_1'], to: 'x' }, 'unknown-field'],
])('refuses %s, and assigns nothing', async (_what, body, type) => {
  const tenant = await makeTenant()

  expectProblem(await api.post(`/admin/tenants/${tenant}/customers`, body), type)
  expect(await customersOf(tenant)).toEqual([])
})

test('knows no customers of an unknown tenant', async () => {
  const path = `/admin/tenants/${showTenantId(randomUUID())}/customers`

  expectProblem(await api.post(path, { customers: ['cus_1'] }), 'resource-not-found')
  expectProblem(await api.get(path), 'resource-not-found')
})
