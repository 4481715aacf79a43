import { randomUUID } from 'node:crypto'
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { examplePayment } from '../../../src/http/resources/payment.ts'
import { get, paymentBody, postPayment, type ApiResponse } from '../../support/client.ts'
import { makeCustomer } from '../../support/customers.ts'
import { service, tenant } from '../../support/shared-service.ts'
import type { Tenant } from '../../support/service.ts'
import { until } from '../../support/until.ts'

const post = (body = paymentBody(), options = {}) =>
  postPayment(service.apiUrl, tenant, body, options)

describe('a first request', () => {
  test('answers 201 with the whole payment when it succeeded', async () => {
    const customer = await makeCustomer(service, tenant)
    const answer = await post(
      paymentBody({ customer, description: 'Two tickets', metadata: { order: '17' } }),
    )

    expect(answer.status).toBe(201)
    expect(answer.json).toEqual({
      ...examplePayment,
      id: expect.stringMatching(/^pay_[0-9a-z]{26}$/),
      object: 'payment',
      amount: 1999,
      amount_captured: 1999,
      amount_refunded: 0,
      currency: 'usd',
      status: 'succeeded',
      capture_method: 'automatic',
      payment_method: 'pm_card_visa',
      customer,
      description: 'Two tickets',
      reference: null,
      metadata: { order: '17' },
      failure: null,
      cancellation_reason: null,
      capture_before: expect.stringMatching(/Z$/),
      provider: { name: 'stripe', payment_id: expect.stringMatching(/^pi_/) },
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    })
    expect(answer.headers.get('location')).toBe(`/v1/payments/${idOf(answer)}`)
    expect(answer.headers.get('idempotent-replayed')).toBeNull()
    expect(await executedKinds(answer)).toEqual(['payment_intent.create', 'payment_intent.capture'])
  })

  test('answers 402 with a problem that contains the payment when the card is declined', async () => {
    const answer = await post(paymentBody({ payment_method: 'pm_card_chargeDeclined' }))

    expect(answer.status).toBe(402)
    expect(answer.headers.get('content-type')).toContain('application/problem+json')
    expect(answer.json).toMatchObject({
      type: '/problems/payment-declined',
      status: 402,
      payment: {
        status: 'declined',
        amount_captured: 0,
        failure: { code: 'card_declined', decline_code: 'generic_decline' },
      },
      error: { type: 'card_error', code: 'card_declined', decline_code: 'generic_decline' },
    })
  })

  test('answers 202 at once when the client prefers not to wait', async () => {
    const key = randomUUID()
    const answer = await post(paymentBody(), { key, headers: { prefer: 'respond-async' } })

    expect(answer.status).toBe(202)
    expect(answer.headers.get('preference-applied')).toBe('respond-async')
    expect(answer.headers.get('retry-after')).toMatch(/^[12]$/)
    expect(answer.headers.get('location')).toBe(`/v1/payments/${idOf(answer)}`)
    expect(answer.json).toMatchObject({ object: 'payment', status: 'processing' })
    const final = await post(paymentBody(), { key, headers: { prefer: 'wait=20' } })
    expect(final.status).toBe(201)
    expect(idOf(final)).toBe(idOf(answer))
  })

  test('answers 202 when there is no result within the wait', async () => {
    await service.control('POST', 'faults', {
      match: { payment_method: 'pm_card_amex' },
      fault: 'delay',
      delay_ms: 500,
    })
    const key = randomUUID()
    const body = paymentBody({ payment_method: 'pm_card_amex' })
    const answer = await post(body, { key, headers: { prefer: 'wait=0' } })

    expect(answer.status).toBe(202)
    expect(answer.headers.get('preference-applied')).toBe('wait=0')
    expect((await post(body, { key, headers: { prefer: 'wait=20' } })).status).toBe(201)
  })

  test('says when its key expires, a day from its end at least', async () => {
    const before = Date.now()
    const answer = await post()

    const expires = Date.parse(answer.headers.get('idempotency-key-expires') ?? '')
    expect(expires).toBeGreaterThanOrEqual(Math.floor(before / 1000) * 1000 + 86_400_000)
  })
})

describe('a retry with the same key', () => {
  test.each([
    ['a success', 'pm_card_visa', 201],
    ['a decline', 'pm_card_chargeDeclinedInsufficientFunds', 402],
  ])('replays %s byte for byte', async (_case, paymentMethod, status) => {
    const key = randomUUID()
    const body = paymentBody({ payment_method: paymentMethod })
    const first = await post(body, { key })
    const second = await post(body, { key })
    const third = await post(body, { key, headers: { prefer: 'respond-async' } })

    expect(first.status).toBe(status)
    for (const replay of [second, third]) {
      expect(replay.status).toBe(status)
      expect(replay.text).toBe(first.text)
      expect(replay.headers.get('idempotent-replayed')).toBe('true')
      for (const name of ['content-type', 'location', 'idempotency-key-expires']) {
        expect(replay.headers.get(name)).toBe(first.headers.get(name))
      }
    }
    expect(third.headers.has('preference-applied')).toBe(false)
  })

  test('means the same key with and without quotes', async () => {
    const key = randomUUID()
    const first = await post(paymentBody(), { key })
    const second = await post(paymentBody(), { key: `"${key}"` })

    expect(second.text).toBe(first.text)
  })

  test('is the same request when only the order and the spacing of its JSON differ', async () => {
    const key = randomUUID()
    const first = await post(paymentBody({ metadata: { order: '17', shop: 'north' } }), { key })
    const second = await postPayment(
      service.apiUrl,
      tenant,
      `{ "metadata":{"shop" :"north","order":"17"}, "payment_method":"pm_card_visa",
        "currency":"usd", "amount":1999 }`,
      { key },
    )

    expect(second.text).toBe(first.text)
  })
})

describe('50 concurrent requests with one key', () => {
  let secondApi: string

  beforeAll(async () => {
    secondApi = (await service.startApi()).url
  })

  const start = (key: string, headers: Record<string, string>, body = paymentBody()) =>
    Array.from({ length: 50 }, (_, index) =>
      postPayment(index % 2 === 0 ? service.apiUrl : secondApi, tenant, body, { key, headers }),
    )

  test('make one charge, and the others get 409 with Retry-After', async () => {
    // The provider does not answer before all others are refused.
    const card = { payment_method: 'pm_card_mastercard' }
    await service.control('POST', 'faults', { match: card, fault: 'delay', delay_ms: 60_000 })
    const key = randomUUID()
    const refused: ApiResponse[] = []
    const requests = start(key, {}, paymentBody(card)).map(async (request) => {
      const answer = await request
      if (answer.status === 409) refused.push(answer)
      return answer
    })
    await until(() => refused.length === 49)
    await service.control('DELETE', 'faults')
    const created = (await Promise.all(requests)).filter(({ status }) => status === 201)

    expect(refused).toHaveLength(49)
    expect(created).toHaveLength(1)
    expect(created[0]?.headers.get('idempotent-replayed')).toBeNull()
    for (const answer of refused) {
      expect(answer.json['type']).toBe('/problems/operation-in-progress')
      // As long as the lease has lasted.
      expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
      expect(answer.headers.get('idempotency-key-expires')).not.toBeNull()
    }
    expect(await executedKinds(created[0])).toHaveLength(2)
    expect(await countPayments(key)).toBe(1)
  })

  test('all get the same bytes when they prefer to wait', async () => {
    const key = randomUUID()
    const answers = await Promise.all(start(key, { prefer: 'wait=20' }))

    expect(answers.map(({ status }) => status)).toEqual(Array<number>(50).fill(201))
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect(await executedKinds(answers[0])).toHaveLength(2)
    expect(await countPayments(key)).toBe(1)
  })
})

describe('two tenants with the same key', () => {
  let other: Tenant

  beforeEach(async () => {
    other = await service.createTenant()
  })

  test('have a payment each, and do not see the other one', async () => {
    const key = randomUUID()
    const [mine, theirs] = await Promise.all([
      postPayment(service.apiUrl, tenant, paymentBody({ amount: 100 }), { key }),
      postPayment(service.apiUrl, other, paymentBody({ amount: 200 }), { key }),
    ])

    expect(mine.json).toMatchObject({ amount: 100, status: 'succeeded' })
    expect(theirs.json).toMatchObject({ amount: 200, status: 'succeeded' })
    expect(idOf(mine)).not.toBe(idOf(theirs))
    const list = await get(service.apiUrl, other, '/v1/payments')
    expect((list.json['data'] as { id: string }[]).map(({ id }) => id)).toEqual([idOf(theirs)])
  })
})

function idOf(answer: ApiResponse): string {
  return String(answer.json['id'])
}

async function executedKinds(answer: ApiResponse | undefined): Promise<string[]> {
  const calls = await service.executedFor({ id: String(answer?.json['id']) })
  return calls.map(({ kind }) => kind)
}

async function countPayments(key: string): Promise<number> {
  const rows = await service.store.sql`
    select from payments
    join idempotency_keys k on k.tenant_id = payments.tenant_id and k.payment_id = payments.id
    where k.tenant_id = ${tenant.id} and k.key = ${key}
  `
  return rows.count
}

test('with CARD_NUMBER_CHECK=payment_fields, only these fields are searched for card numbers', async () => {
  const { url } = await service.startApi({ CARD_NUMBER_CHECK: 'payment_fields' })
  const number = '4242424242424242'
  const accepted = await postPayment(url, tenant, paymentBody({ metadata: { account: number } }), {
    key: number,
  })
  const refused = await postPayment(url, tenant, paymentBody({ description: `card ${number}` }))

  expect(accepted.status).toBe(201)
  expect(refused.json['type']).toBe('/problems/card-number-refused')
})
