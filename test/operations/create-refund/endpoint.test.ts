import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from '@jest/globals'
import { refundReasons } from '../../../src/domain/payments/refund.ts'
import { get, post, type ApiResponse } from '../../support/client.ts'
import { eventsOf, postingsOf } from '../../support/records.ts'
import { service, tenant } from '../../support/shared-service.ts'
import {
  expectProblem,
  expectReplay,
  makePayment,
  providerOf,
  readPayment,
} from '../../http/payments.ts'

const refund = (payment: { id: string }, body?: unknown, options = {}) =>
  post(service.apiUrl, tenant, `/v1/payments/${payment.id}/refunds`, body, options)

const captured = () => makePayment(service, tenant, 'succeeded')

const idOf = (answer: ApiResponse) => String(answer.json['id'])

/** The amounts that the provider refunded. */
const givenBack = async (payment: { id: string }) =>
  (await service.executedFor(payment))
    .filter(({ kind }) => kind === 'refund.create')
    .map(({ amount }) => amount)

const sum = (amounts: readonly number[]) => amounts.reduce((total, amount) => total + amount, 0)

const refundPostings = async (payment: { id: string }) =>
  (await postingsOf(service.store, payment.id)).filter(({ kind }) => kind === 'refund')

describe('a refund', () => {
  test('answers 201 with the whole refund when it succeeded', async () => {
    const payment = await captured()

    const answer = await refund(payment, {
      amount: 500,
      reason: 'requested_by_customer',
      metadata: { order: '17' },
    })

    expect(answer.status).toBe(201)
    expect(answer.json).toEqual({
      id: expect.stringMatching(/^re_[0-9a-z]{26}$/),
      object: 'refund',
      payment: payment.id,
      amount: 500,
      currency: 'usd',
      status: 'succeeded',
      reason: 'requested_by_customer',
      reference: null,
      metadata: { order: '17' },
      failure: null,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    })
    expect(answer.headers.get('location')).toBe(`/v1/refunds/${idOf(answer)}`)
    expect(await givenBack(payment)).toEqual([500])
    expect(await readPayment(service, tenant, payment)).toEqual({
      ...payment,
      amount_refunded: 500,
    })
    const { data } = await providerOf(service).refunds.list({
      payment_intent: payment.provider.payment_id,
    })
    const ids = { atomic_payment: payment.id, atomic_refund: idOf(answer) }
    expect(data).toMatchObject([
      { amount: 500, reason: 'requested_by_customer', metadata: { order: '17', ...ids } },
    ])
    expect(await refundPostings(payment)).toEqual([
      {
        transaction_id: expect.any(String),
        kind: 'refund',
        debit: 'refunds',
        credit: 'provider_receivable',
        amount: 500,
        currency: 'usd',
        refund_id: expect.any(String),
      },
    ])
    expect(await eventsOf(service.store, payment.id)).toEqual([
      'payment.created',
      'payment.succeeded',
      'refund.created',
      'refund.succeeded',
    ])
  })

  test('without an amount refunds what is left', async () => {
    const payment = await captured()
    await refund(payment, { amount: 500 })

    const answer = await refund(payment, { reason: null, metadata: null })

    expect(answer.json).toMatchObject({ amount: 1499, status: 'succeeded', reason: null })
    expect(await readPayment(service, tenant, payment)).toMatchObject({ amount_refunded: 1999 })
  })

  test('without an amount never refunds more than was captured', async () => {
    const payment = await makePayment(service, tenant, 'requires_capture')
    await post(service.apiUrl, tenant, `/v1/payments/${payment.id}/capture`, { amount: 700 })

    const answer = await refund(payment)

    expect(answer.json).toMatchObject({ amount: 700, status: 'succeeded' })
  })

  test('has any of the reasons', async () => {
    const payment = await captured()

    for (const reason of refundReasons) {
      expect((await refund(payment, { amount: 1, reason })).json).toMatchObject({ reason })
    }
  })
})

describe('a refund whose provider', () => {
  test('declines it answers 402 with the declined refund, which is replayed and reserves nothing', async () => {
    const payment = await captured()
    const key = randomUUID()
    const { id: foreign } = await providerOf(service).refunds.create({
      payment_intent: payment.provider.payment_id,
    })

    const answer = await refund(payment, { amount: 500 }, { key })
    const again = await refund(payment, { amount: 500 }, { key })

    expect(foreign).toMatch(/^re_/)
    expectProblem(answer, 'refund-declined')
    expect(answer.json['refund']).toMatchObject({
      payment: payment.id,
      status: 'declined',
      failure: { code: 'charge_already_refunded' },
    })
    expectReplay(again, answer)
    expect(await refundPostings(payment)).toEqual([])
    expect(await readPayment(service, tenant, payment)).toEqual(payment)
    const [row] = await service.store.sql`
      select amount_refunding_minor::int as held from payments
      where tenant_id = ${tenant.id} and provider_payment_id = ${payment.provider.payment_id}
    `
    expect(row).toEqual({ held: 0 })
  })
})

describe('30 concurrent refunds with a key each', () => {
  test('never refund more than was captured, and the answers match the executed refunds', async () => {
    const payment = await captured()
    const amounts = Array.from({ length: 30 }, (_, index) => 50 + 37 * (index % 7))

    const answers = await Promise.all(amounts.map((amount) => refund(payment, { amount })))

    const succeeded = answers.filter(({ status }) => status === 201)
    const refused = answers.filter(({ status }) => status !== 201)
    for (const answer of refused) expectProblem(answer, 'refund-exceeds-capture')
    const given = succeeded.map(({ json }) => Number(json['amount']))
    expect(sum(given)).toBeLessThanOrEqual(1999)
    // The remaining amount is less than the smallest refused refund.
    expect(refused.length).toBeGreaterThan(0)
    const asked = answers.flatMap(({ status }, index) => (status === 201 ? [] : amounts[index]))
    expect(1999 - sum(given)).toBeLessThan(Math.min(...asked.map(Number)))
    expect((await givenBack(payment)).toSorted(ascending)).toEqual(given.toSorted(ascending))
    expect(await readPayment(service, tenant, payment)).toMatchObject({
      status: 'succeeded',
      amount_refunded: sum(given),
    })
    expect(sum((await refundPostings(payment)).map(({ amount }) => amount))).toBe(sum(given))
  })

  test('without an amount: one refunds all, the others get 409', async () => {
    const payment = await captured()

    const answers = await Promise.all(Array.from({ length: 30 }, () => refund(payment)))

    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
    for (const answer of answers) {
      if (answer.status !== 201) expectProblem(answer, 'refund-exceeds-capture')
    }
    expect(await givenBack(payment)).toEqual([1999])
  })

  const ascending = (one: number, other: number) => one - other
})

describe('GET /v1/refunds/:id', () => {
  test('shows the refund as in the response to its creation', async () => {
    const created = await refund(await captured(), { amount: 500 })

    const shown = await get(service.apiUrl, tenant, `/v1/refunds/${idOf(created)}`)

    expect(shown.status).toBe(200)
    expect(shown.text).toBe(created.text)
  })
})

describe('GET /v1/payments/:id/refunds', () => {
  let payment: { id: string }
  let ids: string[]

  beforeAll(async () => {
    payment = await captured()
    ids = []
    for (let amount = 1; amount <= 5; amount += 1) {
      ids.unshift(idOf(await refund(payment, { amount })))
    }
    // The refund of another payment is not in the list.
    await refund(await captured())
  })

  const list = async (query: string, of = payment, as = tenant) =>
    await get(service.apiUrl, as, `/v1/payments/${of.id}/refunds?${query}`)

  const page = async (query: string) => {
    const { json } = await list(query)
    const refunds = json['data'] as { id: string }[]
    return { ids: refunds.map(({ id }) => id), more: json['has_more'], object: json['object'] }
  }

  test("lists the payment's refunds newest first", async () => {
    expect(await page('')).toEqual({ ids, more: false, object: 'list' })
  })

  test('shows each as its own path shows it', async () => {
    const { json } = await list('limit=1')

    const shown = await get(service.apiUrl, tenant, `/v1/refunds/${ids[0]}`)
    expect(json['data']).toEqual([shown.json])
  })
})
