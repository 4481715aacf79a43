// No tenant can charge a customer or a saved payment method of another tenant.
import { randomUUID } from 'node:crypto'
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { get, paymentBody, postPayment, type ApiResponse } from '../support/client.ts'
import { assignCustomer, makeCard, makeCustomer, saveCard } from '../support/customers.ts'
import { service } from '../support/shared-service.ts'
import type { ExecutedCall, Tenant } from '../support/service.ts'

let mine: Tenant
let theirs: Tenant
let theirCustomer: string

beforeAll(async () => {
  theirs = await service.createTenant()
  theirCustomer = await makeCustomer(service, theirs)
})
beforeEach(async () => {
  mine = await service.createTenant()
})

const pay = (tenant: Tenant, fields: object, key: string = randomUUID()): Promise<ApiResponse> =>
  postPayment(service.apiUrl, tenant, paymentBody({ ...fields }), { key })

/** How many effects at the provider are of payments of the two tenants. */
async function executed(): Promise<number> {
  const { data } = (await service.control('GET', 'executed')) as { data: ExecutedCall[] }
  const tenants = [mine.id, theirs.id]
  return data.filter(({ metadata }) => tenants.includes(metadata['atomic_tenant'] ?? '')).length
}

/** How many rows a tenant has, in the tables that an intent writes. */
async function countRows({ id }: Tenant): Promise<number> {
  const counts = ['idempotency_keys', 'payments', 'events', 'phase_runs'].map(async (table) => {
    const { sql } = service.store
    return (await sql`select from ${sql(table)} where tenant_id = ${id}`).count
  })
  return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0)
}

describe("another tenant's customer", () => {
  test('is answered byte for byte like one that does not exist, and leaves nothing behind', async () => {
    const before = await executed()

    const refused = await pay(mine, { customer: theirCustomer })
    const unknown = await pay(mine, { customer: 'cus_nobody' })

    expect(refused.status).toBe(404)
    expect(refused.json).toMatchObject({
      type: '/problems/customer-not-found',
      errors: [{ pointer: '/customer', detail: 'No such customer' }],
      error: { type: 'invalid_request_error', code: 'resource_missing', param: 'customer' },
    })
    expect(refused.text).toBe(unknown.text)
    expect(await countRows(mine)).toBe(0)
    expect(await executed()).toBe(before)
  })

  test('does not use up the key: after the customer has moved, the same request pays', async () => {
    const customer = await makeCustomer(service, theirs)
    const key = randomUUID()
    await pay(mine, { customer }, key)

    await assignCustomer(service, mine, customer, theirs)

    expect(await pay(mine, { customer }, key)).toMatchObject({
      status: 201,
      json: { status: 'succeeded', customer },
    })
    expect((await pay(theirs, { customer })).status).toBe(404)
  })

  test('is not claimed by use', async () => {
    const customer = `cus_${randomUUID().replaceAll('-', '')}`
    await pay(mine, { customer })

    await assignCustomer(service, theirs, customer)

    expect((await pay(mine, { customer })).status).toBe(404)
  })
})

test('a retry of an accepted payment gets its stored answer after the customer has moved', async () => {
  const customer = await makeCustomer(service, mine)
  const key = randomUUID()
  const first = await pay(mine, { customer }, key)

  await assignCustomer(service, theirs, customer, mine)
  const replayed = await pay(mine, { customer }, key)

  expect(first.status).toBe(201)
  expect(replayed.text).toBe(first.text)
  expect(replayed.headers.get('idempotent-replayed')).toBe('true')
})

describe("another tenant's saved payment method", () => {
  test.each<[string, () => Promise<object>]>([
    ['without a customer', async () => ({})],
    [
      "with the tenant's own customer",
      async () => ({ customer: await makeCustomer(service, mine) }),
    ],
  ])('is declined by the provider %s, and nothing names its customer', async (_how, fields) => {
    const customer = await makeCustomer(service, theirs)
    const card = await saveCard(service, customer)
    const before = await executed()

    const declined = await pay(mine, { payment_method: card, ...(await fields()) })

    expect(declined).toMatchObject({ status: 402, json: { payment: { status: 'declined' } } })
    expect(await executed()).toBe(before)
    const { id } = declined.json['payment'] as { id: string }
    const timeline = await get(service.apiUrl, mine, `/v1/payments/${id}/timeline`)
    const events = await get(service.apiUrl, mine, '/v1/events')
    expect(timeline.text).toContain(card)
    for (const { text } of [declined, timeline, events]) expect(text).not.toContain(customer)
  })

  test('pays for its own tenant, again and again', async () => {
    const customer = await makeCustomer(service, mine)
    const payment_method = await saveCard(service, customer)

    expect((await pay(mine, { customer, payment_method })).status).toBe(201)
    expect((await pay(mine, { customer, payment_method })).status).toBe(201)
  })
})

test('a payment method that has paid without a customer cannot pay again', async () => {
  const payment_method = await makeCard(service)

  expect((await pay(theirs, { payment_method })).status).toBe(201)
  expect(await pay(mine, { payment_method })).toMatchObject({
    status: 402,
    json: {
      payment: { failure: { message: expect.stringContaining('It may not be used again') } },
    },
  })
})
