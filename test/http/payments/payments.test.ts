// Reads of payments, timelines, idempotency keys and health, and payments without a provider.
import { describe, expect, test } from '@jest/globals'
import { setProviders } from '../../../src/db/tenants/tenants.ts'
import { countRows } from '../../db/reservations.ts'
import { get, paymentBody, postPayment, read, type ApiResponse } from '../../support/client.ts'
import { fetchApi } from '../../support/documented.ts'
import { outliveDetails } from '../../support/old-payments.ts'
import { service, tenant } from '../../support/shared-service.ts'
import { expectProblem } from '../payments.ts'

const idOf = (answer: ApiResponse) => String(answer.json['id'])

test('GET /v1/payments/:id returns the same bytes as the request that created the payment', async () => {
  const created = await postPayment(service.apiUrl, tenant)
  const answer = await get(service.apiUrl, tenant, `/v1/payments/${idOf(created)}`)

  expect(answer.status).toBe(200)
  expect(answer.text).toBe(created.text)
})

test('of a payment whose details were deleted, the amounts, the state and the ledger can be read', async () => {
  const owner = await service.createTenant()
  const details = { description: 'for Ada', metadata: { email: 'ada@shop.example' } }
  const created = await postPayment(service.apiUrl, owner, paymentBody(details))
  const id = idOf(created)
  const ledger = await get(service.apiUrl, owner, '/v1/ledger/transactions')

  expect(await outliveDetails(service.store.sql, owner.id)).toBe(1)

  const answer = await get(service.apiUrl, owner, `/v1/payments/${id}`)
  const erased = { payment_method: 'erased', description: null, metadata: {} }
  expect({ status: answer.status, json: answer.json }).toEqual({
    status: 200,
    json: { ...created.json, ...erased, created_at: expect.any(String) },
  })

  const timeline = await get(service.apiUrl, owner, `/v1/payments/${id}/timeline`)
  expect(timeline).toMatchObject({ status: 200, json: { data: [] } })
  expect((await get(service.apiUrl, owner, '/v1/events')).json['data']).toEqual([])
  expect(await get(service.apiUrl, owner, '/v1/ledger/transactions')).toMatchObject({
    status: ledger.status,
    text: ledger.text,
  })
})

describe('GET /v1/payments/:id/timeline', () => {
  test('has every recovery point with its lease, and the requests to the provider with their responses', async () => {
    const payment = await postPayment(service.apiUrl, tenant)
    const { json } = await get(service.apiUrl, tenant, `/v1/payments/${idOf(payment)}/timeline`)

    const runs = json['data'] as Record<string, unknown>[]
    expect(runs.map((run) => run['recovery_point'])).toEqual([
      'started',
      'authorized',
      'captured',
      'finished',
    ])
    expect(runs.map((run) => run['lease_epoch'])).toEqual([0, 1, 1, 1])
    expect(runs.map((run) => run['attempt'])).toEqual([0, 1, 1, 1])
    expect(runs[1]).toMatchObject({
      operation: 'payment.create',
      phase: 'started',
      provider: {
        outcome: 'done',
        asked: { call: 'payment_intents.create', amount: 1999, currency: 'usd' },
        answered: { status: 200, payment_status: 'requires_capture' },
      },
    })
    expect(runs[3]).toMatchObject({ phase: 'captured', provider: null })
  })
})

test('GET /v1/idempotency-keys/:key returns the status and the resource of the operation', async () => {
  const key = 'order 17/"a"'
  const payment = await postPayment(service.apiUrl, tenant, paymentBody(), {
    key: '"order 17/\\"a\\""',
  })

  const path = `/v1/idempotency-keys/${encodeURIComponent(key)}`
  const answer = await get(service.apiUrl, tenant, path)

  expect(answer.json).toEqual({
    object: 'idempotency_key',
    key,
    operation: 'payment.create',
    status: 'completed',
    recovery_point: 'finished',
    attempts: 1,
    resource: { object: 'payment', id: idOf(payment) },
    cancellation: null,
    created_at: expect.any(String),
    expires_at: expect.any(String),
  })
})

describe('health', () => {
  test.each(['/healthz', '/readyz'])('%s returns 200 without an API key', async (path) => {
    const answer = await read(await fetchApi(`${service.apiUrl}${path}`))
    expect(answer).toMatchObject({ status: 200, json: { status: 'ok' } })
  })

  test('/readyz returns 503 while a migration of this version is missing', async () => {
    const { sql } = service.store
    const [newest] = await sql`
      delete from drizzle.__drizzle_migrations
      where created_at = (select max(created_at) from drizzle.__drizzle_migrations)
      returning *
    `
    const answer = await read(await fetchApi(`${service.apiUrl}/readyz`))
    await sql`insert into drizzle.__drizzle_migrations ${sql(newest ?? {})}`

    expect(answer).toMatchObject({ status: 503, json: { checks: { migrations: 'behind' } } })
  })
})

test('nothing is written when no provider takes the currency', async () => {
  const owner = await service.createTenant()
  await setProviders(service.store.sql, owner.id, [{ provider: 'stripe', currencies: ['eur'] }])

  expectProblem(
    await postPayment(service.apiUrl, owner, paymentBody({ currency: 'usd' })),
    'no-provider',
  )

  expect(await countRows(service.store.sql, 'idempotency_keys', owner.id)).toBe(0)
})

test.each([
  ['neither', {}, '/payment_method'],
  [
    'both',
    { payment_method: 'pm_1', payment_methods: { stripe: 'pm_card_visa' } },
    '/payment_methods',
  ],
  ['an unknown provider', { payment_methods: { paypal: 'x' } }, '/payment_methods/paypal'],
])('a body with %s is refused', async (_title, fields, pointer) => {
  const { payment_method: _one, ...others } = paymentBody()

  const answer = await postPayment(service.apiUrl, tenant, { ...others, ...fields })

  expect(answer.status).toBe(422)
  expect(answer.json['errors']).toMatchObject([{ pointer }])
})
