import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from '@jest/globals'
import { refundReasons } from '../../../src/domain/payments/refund.ts'
import { get, paymentBody, post, postPayment, type ApiResponse } from '../../support/client.ts'
import { eventsOf, postingsOf } from '../../support/records.ts'
import { service, tenant } from '../../support/shared-service.ts'
import {
  expectProblem,
  expectReplay,
  foreignIds,
  isKeyKnown,
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
  })

  test('is at the provider with our ids and what the client sent', async () => {
    const payment = await captured()

    const { json } = await refund(payment, { reason: 'duplicate', metadata: { order: '17' } })

    const { data } = await providerOf(service).refunds.list({
      payment_intent: payment.provider.payment_id,
    })
    expect(data).toMatchObject([
      {
        amount: 1999,
        reason: 'duplicate',
        metadata: { order: '17', atomic_payment: payment.id, atomic_refund: json['id'] },
      },
    ])
  })

  test.each([
    ['no content type', undefined, {}],
    ['a content type', undefined, { 'content-type': 'application/json' }],
    ['an empty object', {}, {}],
    ['nulls', { reason: null, metadata: null }, {}],
  ])('without an amount gives all back, with %s', async (_, body, headers) => {
    const payment = await captured()

    const answer = await refund(payment, body, { headers })

    expect(answer.json).toMatchObject({ amount: 1999, status: 'succeeded', reason: null })
    expect(await givenBack(payment)).toEqual([1999])
  })

  test('without an amount refunds what is left', async () => {
    const payment = await captured()
    await refund(payment, { amount: 500 })

    const answer = await refund(payment)

    expect(answer.json).toMatchObject({ amount: 1499, status: 'succeeded' })
    expect(await readPayment(service, tenant, payment)).toMatchObject({ amount_refunded: 1999 })
  })

  test('without an amount never refunds more than was captured', async () => {
    const payment = await makePayment(service, tenant, 'requires_capture')
    await post(service.apiUrl, tenant, `/v1/payments/${payment.id}/capture`, { amount: 700 })

    const answer = await refund(payment)

    expect(answer.json).toMatchObject({ amount: 700, status: 'succeeded' })
  })

  test.each(refundReasons)('accepts the reason %s', async (reason) => {
    expect((await refund(await captured(), { reason })).json).toMatchObject({ reason })
  })

  test('is posted to the ledger, as one row that names it', async () => {
    const payment = await captured()

    await refund(payment, { amount: 500 })

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
  })

  test('is reported in its own events', async () => {
    const payment = await captured()

    await refund(payment)

    expect(await eventsOf(service.store, payment.id)).toEqual([
      'payment.created',
      'payment.succeeded',
      'refund.created',
      'refund.succeeded',
    ])
  })

  test('answers 202 with the processing refund when the client prefers not to wait', async () => {
    const payment = await captured()
    const key = randomUUID()

    const answer = await refund(payment, undefined, { key, headers: { prefer: 'respond-async' } })
    const final = await refund(payment, undefined, { key, headers: { prefer: 'wait=20' } })

    expect(answer.status).toBe(202)
    expect(answer.headers.get('location')).toBe(`/v1/refunds/${idOf(answer)}`)
    expect(answer.json).toMatchObject({ object: 'refund', amount: 1999, status: 'processing' })
    expect(final.json).toMatchObject({ id: idOf(answer), status: 'succeeded' })
  })
})

describe('a refund is refused, and its key is not used up,', () => {
  test.each([
    ['of more than was captured', [], 2000],
    ['of more than is left', [1000], 1000],
    ['of anything when nothing is left', [1999], 1],
    ['without an amount when nothing is left', [1000, 999], undefined],
  ])('%s: 409', async (_, earlier, amount) => {
    const payment = await captured()
    for (const given of earlier) await refund(payment, { amount: given })
    const key = randomUUID()

    const answer = await refund(payment, { amount }, { key })

    expectProblem(answer, 'refund-exceeds-capture')
    expect(answer.json['detail']).toBe(`${1999 - sum(earlier)} is left to refund.`)
    expect(await isKeyKnown(service, tenant, key)).toBe(false)
    expect(await givenBack(payment)).toEqual(earlier)
    expect((await postPayment(service.apiUrl, tenant, paymentBody(), { key })).status).toBe(201)
  })

  test.each(['requires_capture', 'requires_action', 'declined', 'canceled'] as const)(
    'when the payment is %s: 409',
    async (status) => {
      const payment = await makePayment(service, tenant, status)
      const key = randomUUID()

      const answer = await refund(payment, undefined, { key })

      expectProblem(answer, 'invalid-state')
      expect(answer.json['detail']).toBe(`The payment is ${status}.`)
      expect(await isKeyKnown(service, tenant, key)).toBe(false)
      expect(await readPayment(service, tenant, payment)).toEqual(payment)
    },
  )

  test.each([
    ['a field that is unknown', { amount: 1, color: 'red' }, 'unknown-field'],
    ['a currency', { currency: 'usd' }, 'unknown-field'],
    ['an amount of zero', { amount: 0 }, 'invalid-amount'],
    ['an amount below zero', { amount: -1 }, 'invalid-amount'],
    ['an amount as a text', { amount: '500' }, 'invalid-amount'],
    ['an amount of null', { amount: null }, 'invalid-amount'],
    ['the reason of a cancellation', { reason: 'abandoned' }, 'invalid-field'],
    ['metadata that is ours', { metadata: { atomic_refund: 'x' } }, 'invalid-field'],
    ['a card number', { metadata: { card: '4242424242424242' } }, 'card-number-refused'],
  ] as const)('when its body holds %s', async (_, body, type) => {
    const payment = await captured()
    const key = randomUUID()

    expectProblem(await refund(payment, body, { key }), type)
    expect(await isKeyKnown(service, tenant, key)).toBe(false)
    expect(await givenBack(payment)).toEqual([])
  })

  test('with the same bytes for the payment of another tenant, an unknown id and no id', async () => {
    const key = randomUUID()

    const answers = await Promise.all(
      (await foreignIds(service)).map((id) => refund({ id }, undefined, { key })),
    )

    for (const answer of answers) expectProblem(answer, 'resource-not-found')
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect(await isKeyKnown(service, tenant, key)).toBe(false)
  })
})

describe('a retry with the key of a refund', () => {
  test('replays it byte for byte, and refunds nothing again', async () => {
    const payment = await captured()
    const key = randomUUID()

    const first = await refund(payment, { amount: 500 }, { key })
    const second = await refund(payment, { amount: 500 }, { key })

    expect(first.status).toBe(201)
    expectReplay(second, first)
    expect(await givenBack(payment)).toEqual([500])
  })

  test('without an amount replays it although nothing is left', async () => {
    const payment = await captured()
    const key = randomUUID()

    const first = await refund(payment, undefined, { key })

    expectReplay(await refund(payment, undefined, { key }), first)
  })

  test.each([
    ['another amount', { amount: 600 }],
    ['another reason', { amount: 500, reason: 'duplicate' }],
    ['other metadata', { amount: 500, metadata: { order: '18' } }],
  ])('and %s gets 422', async (_, body) => {
    const payment = await captured()
    const key = randomUUID()
    await refund(payment, { amount: 500 }, { key })

    expectProblem(await refund(payment, body, { key }), 'idempotency-key-reused')
    expect(await givenBack(payment)).toEqual([500])
  })
})

describe('a refund whose provider', () => {
  test.each(['nonsense_body', 'reset_after', 'truncated_body', 'wrong_amount', 'rate_limited'])(
    'answers with %s is executed once',
    async (fault) => {
      const payment = await captured()
      await service.control('POST', 'faults', { match: { path: '/v1/refunds' }, fault })

      const answer = await refund(payment, { amount: 500 })

      expect(answer.json).toMatchObject({ status: 'succeeded', amount: 500 })
      expect(await givenBack(payment)).toEqual([500])
      expect(await refundPostings(payment)).toHaveLength(1)
    },
  )

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

test('20 concurrent refunds with one key are executed once, and all get the same bytes', async () => {
  const payment = await captured()
  const key = randomUUID()

  const answers = await Promise.all(
    Array.from({ length: 20 }, () =>
      refund(payment, { amount: 100 }, { key, headers: { prefer: 'wait=20' } }),
    ),
  )

  expect(answers.map(({ status }) => status)).toEqual(Array<number>(20).fill(201))
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
  expect(await givenBack(payment)).toEqual([100])
})

describe('GET /v1/refunds/:id', () => {
  test('shows the refund as in the response to its creation', async () => {
    const created = await refund(await captured(), { amount: 500 })

    const shown = await get(service.apiUrl, tenant, `/v1/refunds/${idOf(created)}`)

    expect(shown.status).toBe(200)
    expect(shown.text).toBe(created.text)
  })

  test('answers the same bytes for an id of another tenant, an unknown id, the id of a payment and no id', async () => {
    const other = await service.createTenant()
    const payment = await captured()
    const foreign = idOf(await refund(payment))
    const absent = `${foreign.slice(0, -1)}${foreign.endsWith('0') ? '1' : '0'}`

    const answers = await Promise.all(
      [foreign, absent, payment.id, 'nonsense'].map((id) =>
        get(service.apiUrl, other, `/v1/refunds/${id}`),
      ),
    )

    for (const answer of answers) expectProblem(answer, 'resource-not-found')
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
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

  test('pages forward and backward', async () => {
    expect(await page('limit=2')).toMatchObject({ ids: ids.slice(0, 2), more: true })
    expect(await page(`limit=2&starting_after=${ids[1]}`)).toMatchObject({
      ids: ids.slice(2, 4),
      more: true,
    })
    expect(await page(`limit=2&starting_after=${ids[3]}`)).toMatchObject({
      ids: ids.slice(4),
      more: false,
    })
    expect(await page(`limit=2&ending_before=${ids[3]}`)).toMatchObject({
      ids: ids.slice(1, 3),
      more: true,
    })
    expect(await page(`limit=2&ending_before=${ids[1]}`)).toMatchObject({
      ids: ids.slice(0, 1),
      more: false,
    })
  })

  test('is empty for a payment without refunds', async () => {
    const { json } = await list('', await captured())

    expect(json).toEqual({ object: 'list', data: [], has_more: false })
  })

  test('answers 400 to a query that is out of range, unknown or not the id of a refund', async () => {
    const queries = [
      'limit=0',
      'limit=101',
      'page=2',
      'starting_after=re_1',
      `starting_after=${payment.id}`,
      `starting_after=${ids[0]}&ending_before=${ids[1]}`,
    ]

    const answers = await Promise.all(queries.map((query) => list(query)))

    for (const answer of answers) expectProblem(answer, 'invalid-query')
  })

  test('answers 404 with the same bytes for the payment of another tenant, an unknown id and no id', async () => {
    const answers = await Promise.all((await foreignIds(service)).map((id) => list('', { id })))

    for (const answer of answers) expectProblem(answer, 'resource-not-found')
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
  })
})
