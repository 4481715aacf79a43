// Tests what the API answers to captures, cancellations and refunds. What every operation has in common,
// replays for example, is in every-operation.test.ts, and ids of other tenants in test/security.
import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from '@jest/globals'
import { cancelReasons } from '../../src/domain/payments/payment.ts'
import { post, type ApiResponse } from '../support/client.ts'
import { eventsOf, postingsOf } from '../support/records.ts'
import { service, tenant } from '../support/shared-service.ts'
import {
  executedKinds,
  expectProblem,
  expectReplay,
  isKeyKnown,
  makePayment,
  providerOf,
  readPayment,
  type ShownPayment,
} from '../http/payments.ts'

type Action = 'capture' | 'cancel' | 'refunds'
type Payment = Pick<ShownPayment, 'id'>

const ask = (action: Action) => (payment: Payment, body?: unknown, options?: object) =>
  post(service.apiUrl, tenant, `/v1/payments/${payment.id}/${action}`, body, options)
const capture = ask('capture')
const cancel = ask('cancel')
const refund = ask('refunds')

const held = () => makePayment(service, tenant, 'requires_capture')
const captured = () => makePayment(service, tenant, 'succeeded')
const startOf = (action: Action) => (action === 'refunds' ? captured() : held())

const CAPTURED = ['payment_intent.create', 'payment_intent.capture']
const CANCELED = ['payment_intent.create', 'payment_intent.cancel']

const idOf = (answer: ApiResponse) => String(answer.json['id'])
const intentOf = ({ provider }: ShownPayment) =>
  providerOf(service).paymentIntents.retrieve(provider.payment_id)
const sum = (amounts: readonly number[]) => amounts.reduce((total, amount) => total + amount, 0)

/** The amounts that the provider refunded. */
const givenBack = async (payment: Payment) =>
  (await service.executedFor(payment))
    .filter(({ kind }) => kind === 'refund.create')
    .map(({ amount }) => amount)

describe('is refused, and its key is not used up:', () => {
  test.each([
    ['capture', 'succeeded'],
    ['capture', 'declined'],
    ['capture', 'canceled'],
    ['capture', 'requires_action'],
    ['cancel', 'succeeded'],
    ['cancel', 'declined'],
    ['cancel', 'canceled'],
    ['refunds', 'requires_capture'],
    ['refunds', 'requires_action'],
    ['refunds', 'declined'],
    ['refunds', 'canceled'],
  ] as const)('%s of a payment that is %s', async (action, status) => {
    const payment = await makePayment(service, tenant, status)
    const before = await executedKinds(service, payment)
    const key = randomUUID()

    const answer = await ask(action)(payment, undefined, { key })

    expectProblem(answer, 'invalid-state')
    expect(answer.json['detail']).toBe(`The payment is ${status}.`)
    expect(await isKeyKnown(service, tenant, key)).toBe(false)
    expect(await readPayment(service, tenant, payment)).toEqual(payment)
    expect(await executedKinds(service, payment)).toEqual(before)
  })

  describe('a body that', () => {
    const payments = new Map<Action, ShownPayment>()

    beforeAll(async () => {
      for (const action of ['capture', 'cancel', 'refunds'] as const) {
        payments.set(action, await startOf(action))
      }
    })

    test.each([
      ['has an unknown field', 'capture', { amount: 1, color: 'red' }, 'unknown-field'],
      ['has the reason of a cancellation', 'capture', { reason: 'duplicate' }, 'unknown-field'],
      ['has an amount of zero', 'capture', { amount: 0 }, 'invalid-amount'],
      ['has an amount as a text', 'capture', { amount: '500' }, 'invalid-amount'],
      ['has an amount with a fraction', 'capture', '{"amount":5.00}', 'invalid-amount'],
      ['has an amount of null', 'capture', { amount: null }, 'invalid-amount'],
      ['has too large an amount', 'capture', { amount: 2000 }, 'capture-exceeds-authorization'],
      ['is a list', 'capture', '[]', 'malformed-json'],
      ['is half an object', 'capture', '{"amount":', 'malformed-json'],
      ['has an unknown field', 'cancel', { reason: 'duplicate', color: 'red' }, 'unknown-field'],
      ['has the amount of a capture', 'cancel', { amount: 500 }, 'unknown-field'],
      ['has a reason of its own', 'cancel', { reason: 'changed my mind' }, 'invalid-field'],
      ['has a reason that is no text', 'cancel', { reason: 7 }, 'invalid-field'],
      ['has an unknown field', 'refunds', { amount: 1, color: 'red' }, 'unknown-field'],
      ['has a currency', 'refunds', { currency: 'usd' }, 'unknown-field'],
      ['has an amount of zero', 'refunds', { amount: 0 }, 'invalid-amount'],
      ['has an amount below zero', 'refunds', { amount: -1 }, 'invalid-amount'],
      ['has an amount as a text', 'refunds', { amount: '500' }, 'invalid-amount'],
      ['has an amount of null', 'refunds', { amount: null }, 'invalid-amount'],
      ['has the reason of a cancellation', 'refunds', { reason: 'abandoned' }, 'invalid-field'],
      ['has our metadata', 'refunds', { metadata: { atomic_refund: 'x' } }, 'invalid-field'],
      [
        'has a card number',
        'refunds',
        { metadata: { card: '4242424242424242' } },
        'card-number-refused',
      ],
    ] as const)('%s: %s', async (_, action, body, type) => {
      const payment = payments.get(action)
      if (payment === undefined) throw new Error('no payment')
      const key = randomUUID()

      expectProblem(await ask(action)(payment, body, { key }), type)
      expect(await isKeyKnown(service, tenant, key)).toBe(false)
      expect(await readPayment(service, tenant, payment)).toEqual(payment)
    })

    test('is of another type than JSON', async () => {
      const headers = { 'content-type': 'text/plain' }
      const answer = await capture(await held(), '{"amount":500}', { headers })

      expectProblem(answer, 'unsupported-content-type')
    })
  })

  test.each([
    ['of more than was captured', [], 2000],
    ['of more than is left', [1000], 1000],
    ['of anything when nothing is left', [1999], 1],
    ['without an amount when nothing is left', [1000, 999], undefined],
  ])('a refund %s', async (_, earlier, amount) => {
    const payment = await captured()
    for (const given of earlier) await refund(payment, { amount: given })
    const key = randomUUID()

    const answer = await refund(payment, { amount }, { key })

    expectProblem(answer, 'refund-exceeds-capture')
    expect(answer.json['detail']).toBe(`${1999 - sum(earlier)} is left to refund.`)
    expect(await isKeyKnown(service, tenant, key)).toBe(false)
    expect(await givenBack(payment)).toEqual(earlier)
  })
})

test.each([
  ['capture', 'payment', { status: 'succeeded', amount_captured: 1999 }],
  ['refunds', 'refund', { status: 'succeeded', amount: 1999 }],
] as const)(
  '%s answers 202 with the processing %s when the client prefers not to wait',
  async (action, object, end) => {
    const payment = await startOf(action)
    const key = randomUUID()
    const prefer = (text: string) => ({ key, headers: { prefer: text } })

    const answer = await ask(action)(payment, undefined, prefer('respond-async'))
    const final = await ask(action)(payment, undefined, prefer('wait=20'))

    expect(answer.status).toBe(202)
    expect(answer.headers.get('location')).toBe(`/v1/${object}s/${idOf(answer)}`)
    expect(answer.json).toMatchObject({ object, status: 'processing' })
    expect(final.json).toMatchObject({ id: idOf(answer), ...end })
  },
)

describe('without a body', () => {
  test.each([
    ['a content type', undefined, { 'content-type': 'application/json' }],
    ['an empty text', '', {}],
  ])('all that is held is captured, with %s', async (_, body, headers) => {
    const answer = await capture(await held(), body, { headers })

    expect(answer.json).toMatchObject({ status: 'succeeded', amount_captured: 1999 })
  })

  test('a request is the same as with an empty object', async () => {
    const payment = await held()
    const key = randomUUID()

    const first = await capture(payment, undefined, { key })

    expectReplay(await capture(payment, {}, { key }), first)
  })
})

describe('a capture', () => {
  test('answers 200 with the payment, and captures all of it by default', async () => {
    const payment = await held()

    const answer = await capture(payment)

    expect(answer.status).toBe(200)
    expect(answer.headers.get('location')).toBe(`/v1/payments/${payment.id}`)
    expect(answer.json).toEqual({ ...payment, status: 'succeeded', amount_captured: 1999 })
    expect(await readPayment(service, tenant, payment)).toEqual(answer.json)
    expect(await executedKinds(service, payment)).toEqual(CAPTURED)
    expect(await eventsOf(service.store, payment.id)).toEqual([
      'payment.created',
      'payment.requires_capture',
      'payment.processing',
      'payment.succeeded',
    ])
  })

  test('of a part captures only that part, releases the rest, and is posted without a fee', async () => {
    const payment = await held()

    const answer = await capture(payment, { amount: 500 })

    expect(answer.json).toMatchObject({ status: 'succeeded', amount: 1999, amount_captured: 500 })
    expect(await intentOf(payment)).toMatchObject({ amount_received: 500, amount_capturable: 0 })
    expect(await service.executedFor(payment)).toMatchObject([{}, { amount: 500 }])
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

  test('that the provider refuses answers 402 with the payment as it is there, and is replayed', async () => {
    const payment = await held()
    const key = randomUUID()
    const reason = { cancellation_reason: 'duplicate' } as const
    await providerOf(service).paymentIntents.cancel(payment.provider.payment_id, reason)

    const answer = await capture(payment, undefined, { key })
    const again = await capture(payment, undefined, { key })

    expectProblem(answer, 'payment-declined')
    const end = { id: payment.id, status: 'canceled', amount_captured: 0, failure: null }
    const error = { code: 'payment_intent_unexpected_state' }
    expect(answer.json).toMatchObject({ payment: { ...end, ...reason }, error })
    expectReplay(again, answer)
    expect(await readPayment(service, tenant, payment)).toMatchObject({ status: 'canceled' })
    expect(await postingsOf(service.store, payment.id)).toEqual([])
  })

  test.each([
    ['captures', (index: number, payment: Payment) => capture(payment, { amount: 100 + index })],
    [
      'captures and cancellations',
      (index: number, payment: Payment) => (index % 2 === 0 ? capture(payment) : cancel(payment)),
    ],
  ])('of 20 concurrent %s with a key each, one wins, and the others get 409', async (_, start) => {
    const payment = await held()

    const answers = await Promise.all(Array.from({ length: 20 }, (__, at) => start(at, payment)))

    const [winner, ...others] = answers.filter(({ status }) => status === 200)
    expect(others).toEqual([])
    for (const answer of answers) if (answer !== winner) expectProblem(answer, 'invalid-state')
    const [, ended, ...more] = await service.executedFor(payment)
    expect(more).toEqual([])
    const amounts = ended?.kind === 'payment_intent.capture' ? [ended.amount] : []
    expect(winner?.json).toMatchObject({ amount_captured: sum(amounts) })
    expect(await readPayment(service, tenant, payment)).toEqual(winner?.json)
    const postings = await postingsOf(service.store, payment.id)
    expect(postings.map(({ amount }) => amount)).toEqual(amounts)
  })
})

describe('a cancellation', () => {
  test('of a held payment answers 200 with the payment, and releases what was held', async () => {
    const payment = await held()

    const answer = await cancel(payment)

    expect(answer.status).toBe(200)
    expect(answer.headers.get('location')).toBe(`/v1/payments/${payment.id}`)
    expect(answer.json).toEqual({ ...payment, status: 'canceled' })
    expect(await readPayment(service, tenant, payment)).toEqual(answer.json)
    expect(await executedKinds(service, payment)).toEqual(CANCELED)
    expect(await postingsOf(service.store, payment.id)).toEqual([])
    expect(await eventsOf(service.store, payment.id)).toEqual([
      'payment.created',
      'payment.requires_capture',
      'payment.processing',
      'payment.canceled',
    ])
  })

  test('of a payment that requires authentication answers 200, and no longer requires it', async () => {
    const payment = await makePayment(service, tenant, 'requires_action')

    const answer = await cancel(payment)

    expect(answer.status).toBe(200)
    expect(answer.json).toMatchObject({ id: payment.id, status: 'canceled', amount_captured: 0 })
    expect(answer.json).not.toHaveProperty('next_action')
    expect(await executedKinds(service, payment)).toEqual(['payment_intent.cancel'])
  })

  test.each([...cancelReasons, null])('sends the reason %s to the provider', async (reason) => {
    const payment = await held()

    const answer = await cancel(payment, { reason })

    const end = { status: 'canceled', cancellation_reason: reason }
    expect(answer.json).toMatchObject(end)
    expect(await intentOf(payment)).toMatchObject(end)
  })

  test('of a payment that was captured at the provider is declined, and a capture then records it', async () => {
    const payment = await held()
    await providerOf(service).paymentIntents.capture(payment.provider.payment_id)

    const answer = await cancel(payment)

    expectProblem(answer, 'payment-declined')
    expect(answer.json['payment']).toMatchObject({ status: 'requires_capture' })
    const end = { status: 'succeeded', amount_captured: 1999 }
    expect(await capture(payment)).toMatchObject({ status: 200, json: end })
    expect(await postingsOf(service.store, payment.id)).toHaveLength(1)
  })

  test('of a payment that was canceled at the provider succeeds', async () => {
    const payment = await held()
    const reason = { cancellation_reason: 'fraudulent' } as const
    await providerOf(service).paymentIntents.cancel(payment.provider.payment_id, reason)

    const answer = await cancel(payment, { reason: 'duplicate' })

    expect(answer.json).toMatchObject({ id: payment.id, status: 'canceled', ...reason })
    expect(await executedKinds(service, payment)).toEqual(CANCELED)
  })
})
