import { randomUUID } from 'node:crypto'
import { describe, expect, test } from '@jest/globals'
import { cancelReasons } from '../../../src/domain/payments/payment.ts'
import { paymentBody, post, postPayment } from '../../support/client.ts'
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

const cancel = (payment: { id: string }, body?: unknown, options = {}) =>
  post(service.apiUrl, tenant, `/v1/payments/${payment.id}/cancel`, body, options)

const held = () => makePayment(service, tenant, 'requires_capture')

const CANCELED = ['payment_intent.create', 'payment_intent.cancel']

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

    const intents = providerOf(service).paymentIntents
    expect(answer.json).toMatchObject({ status: 'canceled', cancellation_reason: reason })
    expect(await intents.retrieve(payment.provider.payment_id)).toMatchObject({
      status: 'canceled',
      cancellation_reason: reason,
    })
  })

  test.each([
    ['no content type', undefined, {}],
    ['a content type', undefined, { 'content-type': 'application/json' }],
    ['an empty object', {}, {}],
  ])('without a body needs no reason, with %s', async (_, body, headers) => {
    const answer = await cancel(await held(), body, { headers })

    expect(answer.json).toMatchObject({ status: 'canceled' })
  })

  test('of a payment that was captured at the provider is declined, and a capture then records it', async () => {
    const payment = await held()
    await providerOf(service).paymentIntents.capture(payment.provider.payment_id)

    const answer = await cancel(payment)

    expect(answer).toMatchObject({
      status: 402,
      json: { type: '/problems/payment-declined', payment: { status: 'requires_capture' } },
    })
    const path = `/v1/payments/${payment.id}/capture`
    const captured = await post(service.apiUrl, tenant, path)
    expect(captured).toMatchObject({
      status: 200,
      json: { status: 'succeeded', amount_captured: 1999 },
    })
    expect(await postingsOf(service.store, payment.id)).toHaveLength(1)
  })

  test('of a payment that was canceled at the provider succeeds', async () => {
    const payment = await held()
    const { paymentIntents } = providerOf(service)
    const reason = { cancellation_reason: 'fraudulent' } as const
    await paymentIntents.cancel(payment.provider.payment_id, reason)

    const answer = await cancel(payment, { reason: 'duplicate' })

    expect(answer.json).toMatchObject({ id: payment.id, status: 'canceled', ...reason })
    expect(await executedKinds(service, payment)).toEqual(CANCELED)
  })

  test.each(['reset_after', 'nonsense_body', 'rate_limited'])(
    'that the provider answers with %s is done once',
    async (fault) => {
      const match = { path: '/v1/payment_intents/*/cancel' }
      await service.control('POST', 'faults', { match, fault })
      const payment = await held()

      const answer = await cancel(payment)

      expect(answer.json).toMatchObject({ status: 'canceled' })
      expect(await executedKinds(service, payment)).toEqual(CANCELED)
    },
  )
})

describe('a cancellation is refused, and its key is not used up,', () => {
  test.each(['succeeded', 'declined', 'canceled'] as const)(
    'when the payment is %s',
    async (status) => {
      const payment = await makePayment(service, tenant, status)
      const before = await executedKinds(service, payment)
      const key = randomUUID()

      const answer = await cancel(payment, undefined, { key })

      expectProblem(answer, 'invalid-state')
      expect(answer.json['detail']).toBe(`The payment is ${status}.`)
      expect(await isKeyKnown(service, tenant, key)).toBe(false)
      expect(await readPayment(service, tenant, payment)).toEqual(payment)
      expect(await executedKinds(service, payment)).toEqual(before)
      expect((await postPayment(service.apiUrl, tenant, paymentBody(), { key })).status).toBe(201)
    },
  )

  test.each([
    ['a field that is unknown', { reason: 'duplicate', color: 'red' }, 'unknown-field'],
    ['the amount of a capture', { amount: 500 }, 'unknown-field'],
    ['a reason of its own', { reason: 'changed my mind' }, 'invalid-field'],
    ['a reason that is no text', { reason: 7 }, 'invalid-field'],
  ] as const)('when its body contains %s', async (_, body, type) => {
    const payment = await held()
    const key = randomUUID()

    expectProblem(await cancel(payment, body, { key }), type)
    expect(await isKeyKnown(service, tenant, key)).toBe(false)
    expect(await readPayment(service, tenant, payment)).toEqual(payment)
  })

  test('with the same bytes for a payment of another tenant, an unknown id and no id', async () => {
    const key = randomUUID()

    const answers = await Promise.all(
      (await foreignIds(service)).map((id) => cancel({ id }, undefined, { key })),
    )

    for (const answer of answers) expectProblem(answer, 'resource-not-found')
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect(await isKeyKnown(service, tenant, key)).toBe(false)
  })
})

describe('a retry with the key of a cancellation', () => {
  test('replays it byte for byte, and executes nothing again', async () => {
    const payment = await held()
    const key = randomUUID()

    const first = await cancel(payment, { reason: 'duplicate' }, { key })
    const second = await cancel(payment, { reason: 'duplicate' }, { key })

    expect(first.status).toBe(200)
    expectReplay(second, first)
    expect(await executedKinds(service, payment)).toEqual(CANCELED)
  })

  test('and another reason gets 422', async () => {
    const payment = await held()
    const key = randomUUID()
    await cancel(payment, { reason: 'duplicate' }, { key })

    expectProblem(
      await cancel(payment, { reason: 'fraudulent' }, { key }),
      'idempotency-key-reused',
    )
  })

  test('as the key of a capture gets 422, and captures nothing', async () => {
    const payment = await held()
    const key = randomUUID()
    await cancel(payment, undefined, { key })
    const path = `/v1/payments/${payment.id}/capture`

    const answer = await post(service.apiUrl, tenant, path, undefined, { key })

    expectProblem(answer, 'idempotency-key-reused')
    expect(await executedKinds(service, payment)).toEqual(CANCELED)
  })
})

test('20 concurrent cancellations with a key each: one succeeds, the others get 409', async () => {
  const payment = await held()

  const answers = await Promise.all(Array.from({ length: 20 }, () => cancel(payment)))

  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  for (const answer of answers) {
    if (answer.status !== 200) expectProblem(answer, 'invalid-state')
  }
  expect(await executedKinds(service, payment)).toEqual(CANCELED)
})
