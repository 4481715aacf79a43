import { randomUUID } from 'node:crypto'
import { describe, expect, test } from '@jest/globals'
import { paymentBody, post, postPayment, type ApiResponse } from '../../support/client.ts'
import { eventsOf, postingsOf } from '../../support/records.ts'
import { service, tenant } from '../../support/shared-service.ts'
import {
  executedKinds,
  expectProblem,
  expectReplay,
  foreignIds,
  isKeyKnown,
  makePayment,
  providerOf,
  readPayment,
} from '../../http/payments.ts'

const capture = (payment: { id: string }, body?: unknown, options = {}) =>
  post(service.apiUrl, tenant, `/v1/payments/${payment.id}/capture`, body, options)

const cancel = (payment: { id: string }) =>
  post(service.apiUrl, tenant, `/v1/payments/${payment.id}/cancel`)

const held = () => makePayment(service, tenant, 'requires_capture')

const HELD = ['payment_intent.create']
const CAPTURED = ['payment_intent.create', 'payment_intent.capture']

describe('a capture of a held payment', () => {
  test('answers 200 with the payment, and captures all of it by default', async () => {
    const payment = await held()

    const answer = await capture(payment)

    expect(answer.status).toBe(200)
    expect(answer.headers.get('location')).toBe(`/v1/payments/${payment.id}`)
    expect(answer.json).toEqual({ ...payment, status: 'succeeded', amount_captured: 1999 })
    expect(await readPayment(service, tenant, payment)).toEqual(answer.json)
    expect(await executedKinds(service, payment)).toEqual(CAPTURED)
  })

  test('of a part captures only that part, and releases the rest', async () => {
    const payment = await held()

    const answer = await capture(payment, { amount: 500 })

    expect(answer.json).toMatchObject({ status: 'succeeded', amount: 1999, amount_captured: 500 })
    const intents = providerOf(service).paymentIntents
    expect(await intents.retrieve(payment.provider.payment_id)).toMatchObject({
      status: 'succeeded',
      amount_received: 500,
      amount_capturable: 0,
    })
    expect(await service.executedFor(payment)).toMatchObject([{}, { amount: 500 }])
  })

  test.each([1, 1999])('captures the amount %d', async (amount) => {
    const answer = await capture(await held(), { amount })

    expect(answer.json).toMatchObject({ status: 'succeeded', amount_captured: amount })
  })

  test('is posted to the ledger, as one row without a fee', async () => {
    const payment = await held()

    await capture(payment, { amount: 500 })

    expect(await postingsOf(service.store, payment.id)).toEqual([
      {
        transaction_id: expect.any(String),
        kind: 'capture',
        debit: 'provider_receivable',
        credit: 'merchant_payable',
        amount: 500,
        currency: 'usd',
        refund_id: null,
      },
    ])
  })

  test("is posted with the tenant's fee, in one ledger transaction", async () => {
    const paying = await service.createTenant()
    await service.store.sql`
      update tenants set fee_basis_points = 290, fee_fixed_minor = 30 where id = ${paying.id}
    `
    const payment = await makePayment(service, paying, 'requires_capture')

    await post(service.apiUrl, paying, `/v1/payments/${payment.id}/capture`, { amount: 1000 })

    const postings = await postingsOf(service.store, payment.id)
    expect(postings).toMatchObject([
      { debit: 'provider_receivable', credit: 'merchant_payable', amount: 1000 },
      { debit: 'merchant_payable', credit: 'fees', amount: 59 },
    ])
    expect(new Set(postings.map((posting) => posting.transaction_id)).size).toBe(1)
  })

  test('is reported in events, after those of the creation', async () => {
    const payment = await held()

    await capture(payment)

    expect(await eventsOf(service.store, payment.id)).toEqual([
      'payment.created',
      'payment.requires_capture',
      'payment.processing',
      'payment.succeeded',
    ])
  })

  test('is in the timeline of the payment, as a separate operation', async () => {
    const payment = await held()

    await capture(payment, { amount: 500 })

    const runs = await service.store.sql`
      select phase, reached, outcome, asked ->> 'amount' as amount from phase_runs
      where tenant_id = ${tenant.id} and operation = 'payment.capture'
      order by recorded_at desc, id desc limit 2
    `
    expect(runs.toReversed()).toEqual([
      { phase: null, reached: 'started', outcome: null, amount: null },
      { phase: 'started', reached: 'finished', outcome: 'done', amount: '500' },
    ])
  })

  test('answers 202 with the processing payment when the client prefers not to wait', async () => {
    const payment = await held()
    const key = randomUUID()

    const answer = await capture(payment, undefined, { key, headers: { prefer: 'respond-async' } })
    const final = await capture(payment, undefined, { key, headers: { prefer: 'wait=20' } })

    expect(answer.status).toBe(202)
    expect(answer.headers.get('location')).toBe(`/v1/payments/${payment.id}`)
    expect(answer.json).toMatchObject({ id: payment.id, status: 'processing' })
    expect(final.json).toMatchObject({ status: 'succeeded', amount_captured: 1999 })
  })

  test('whose provider fails after capturing is captured once', async () => {
    const match = { path: '/v1/payment_intents/*/capture' }
    await service.control('POST', 'faults', { match, fault: 'nonsense_body' })
    const payment = await held()

    const answer = await capture(payment)

    expect(answer.json).toMatchObject({ status: 'succeeded', amount_captured: 1999 })
    expect(await executedKinds(service, payment)).toEqual(CAPTURED)
    expect(await postingsOf(service.store, payment.id)).toHaveLength(1)
  })
})

describe('a capture that the provider refuses', () => {
  test('answers 402 with the payment as it is at the provider, posts nothing, and is replayed', async () => {
    const payment = await held()
    const key = randomUUID()
    const reason = { cancellation_reason: 'duplicate' } as const
    await providerOf(service).paymentIntents.cancel(payment.provider.payment_id, reason)

    const answer = await capture(payment, undefined, { key })
    const again = await capture(payment, undefined, { key })

    expectProblem(answer, 'payment-declined')
    expect(answer.json).toMatchObject({
      payment: {
        id: payment.id,
        status: 'canceled',
        amount_captured: 0,
        failure: null,
        ...reason,
      },
      error: { code: 'payment_intent_unexpected_state' },
    })
    expectReplay(again, answer)
    expect(await readPayment(service, tenant, payment)).toMatchObject({ status: 'canceled' })
    expect(await postingsOf(service.store, payment.id)).toEqual([])
  })
})

describe('a capture is refused, and its key is not used up,', () => {
  test.each(['succeeded', 'declined', 'canceled', 'requires_action'] as const)(
    'when the payment is %s',
    async (status) => {
      const payment = await makePayment(service, tenant, status)
      const before = await executedKinds(service, payment)
      const key = randomUUID()

      const answer = await capture(payment, undefined, { key })

      expectProblem(answer, 'invalid-state')
      expect(answer.json['detail']).toBe(`The payment is ${status}.`)
      expect(await isKeyKnown(service, tenant, key)).toBe(false)
      expect(await readPayment(service, tenant, payment)).toEqual(payment)
      expect(await executedKinds(service, payment)).toEqual(before)
      expect((await postPayment(service.apiUrl, tenant, paymentBody(), { key })).status).toBe(201)
    },
  )

  test('when it asks for more than was authorized', async () => {
    const payment = await held()
    const key = randomUUID()

    const answer = await capture(payment, { amount: 2000 }, { key })

    expectProblem(answer, 'capture-exceeds-authorization')
    expect(answer.json['errors']).toMatchObject([{ pointer: '/amount' }])
    expect(await isKeyKnown(service, tenant, key)).toBe(false)
    expect((await capture(payment, { amount: 1999 }, { key })).status).toBe(200)
  })

  test.each([
    ['a field that is unknown', { amount: 1, color: 'red' }, 'unknown-field'],
    ['the reason of a cancellation', { reason: 'duplicate' }, 'unknown-field'],
    ['an amount of zero', { amount: 0 }, 'invalid-amount'],
    ['an amount as a text', { amount: '500' }, 'invalid-amount'],
    ['an amount with a fraction', '{"amount":5.00}', 'invalid-amount'],
    ['an amount of null', { amount: null }, 'invalid-amount'],
    ['a list', '[]', 'malformed-json'],
    ['half an object', '{"amount":', 'malformed-json'],
  ] as const)('when its body holds %s', async (_, body, type) => {
    const payment = await held()
    const key = randomUUID()

    expectProblem(await capture(payment, body, { key }), type)
    expect(await isKeyKnown(service, tenant, key)).toBe(false)
    expect(await readPayment(service, tenant, payment)).toEqual(payment)
  })

  test('when its body is of another type than JSON', async () => {
    const headers = { 'content-type': 'text/plain' }

    expectProblem(
      await capture(await held(), '{"amount":500}', { headers }),
      'unsupported-content-type',
    )
  })

  test('with the same bytes for a payment of another tenant, an unknown id and no id', async () => {
    const key = randomUUID()

    const answers = await Promise.all(
      (await foreignIds(service)).map((id) => capture({ id }, undefined, { key })),
    )

    for (const answer of answers) expectProblem(answer, 'resource-not-found')
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect(await isKeyKnown(service, tenant, key)).toBe(false)
  })
})

describe('a capture without a body', () => {
  test.each([
    ['no content type', undefined, {}],
    ['a content type', undefined, { 'content-type': 'application/json' }],
    ['an empty text', '', {}],
    ['an empty object', {}, {}],
  ])('is one of all that is held, with %s', async (_, body, headers) => {
    const answer = await capture(await held(), body, { headers })

    expect(answer.json).toMatchObject({ status: 'succeeded', amount_captured: 1999 })
  })

  test('is the same request as one with an empty object', async () => {
    const payment = await held()
    const key = randomUUID()

    const first = await capture(payment, undefined, { key })
    const second = await capture(payment, {}, { key })

    expectReplay(second, first)
  })
})

describe('a retry with the key of a capture', () => {
  test('replays it byte for byte, and executes nothing again', async () => {
    const payment = await held()
    const key = randomUUID()

    const first = await capture(payment, { amount: 500 }, { key })
    const second = await capture(payment, { amount: 500 }, { key })

    expect(first.status).toBe(200)
    expectReplay(second, first)
    expect(await executedKinds(service, payment)).toEqual(CAPTURED)
  })

  test.each([
    ['another amount', { amount: 600 }],
    ['no amount', undefined],
  ])('and %s gets 422, and the key is still good for its own request', async (_, body) => {
    const payment = await held()
    const key = randomUUID()
    const first = await capture(payment, { amount: 500 }, { key })

    const other = await capture(payment, body, { key })

    expectProblem(other, 'idempotency-key-reused')
    expectReplay(await capture(payment, { amount: 500 }, { key }), first)
  })

  test('for another payment gets 422, and leaves that payment held', async () => {
    const [payment, other] = await Promise.all([held(), held()])
    const key = randomUUID()
    await capture(payment, undefined, { key })

    const answer = await capture(other, undefined, { key })

    expectProblem(answer, 'idempotency-key-reused')
    expect(await readPayment(service, tenant, other)).toEqual(other)
    expect(await executedKinds(service, other)).toEqual(HELD)
  })
})

describe('20 concurrent operations on one payment with a key each', () => {
  const winnersOf = (answers: ApiResponse[]) => {
    const winners = answers.filter(({ status }) => status === 200)
    for (const answer of answers) {
      if (answer.status !== 200) expectProblem(answer, 'invalid-state')
    }
    return winners
  }

  test('if all are captures: one captures the money, the others get 409', async () => {
    const payment = await held()

    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => capture(payment, { amount: 100 + index })),
    )

    const winners = winnersOf(answers)
    expect(winners).toHaveLength(1)
    const [, captured] = await service.executedFor(payment)
    expect(winners[0]?.json).toMatchObject({ amount_captured: captured?.amount })
    expect(await executedKinds(service, payment)).toEqual(CAPTURED)
    expect(await readPayment(service, tenant, payment)).toEqual(winners[0]?.json)
    expect(await postingsOf(service.store, payment.id)).toMatchObject([
      { amount: captured?.amount },
    ])
  })

  test('if half are cancellations: one wins, the others get 409', async () => {
    const payment = await held()

    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        index % 2 === 0 ? capture(payment) : cancel(payment),
      ),
    )

    const [winner, ...others] = winnersOf(answers)
    expect(others).toEqual([])
    const isCaptured = winner?.json['status'] === 'succeeded'
    expect(await readPayment(service, tenant, payment)).toEqual(winner?.json)
    expect(await executedKinds(service, payment)).toEqual([
      'payment_intent.create',
      isCaptured ? 'payment_intent.capture' : 'payment_intent.cancel',
    ])
    expect(await postingsOf(service.store, payment.id)).toHaveLength(isCaptured ? 1 : 0)
  })
})

test('20 concurrent captures with one key capture once, and all get the same bytes', async () => {
  const payment = await held()
  const key = randomUUID()

  const answers = await Promise.all(
    Array.from({ length: 20 }, () =>
      capture(payment, undefined, { key, headers: { prefer: 'wait=20' } }),
    ),
  )

  expect(answers.map(({ status }) => status)).toEqual(Array<number>(20).fill(200))
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
  expect(await executedKinds(service, payment)).toEqual(CAPTURED)
})
