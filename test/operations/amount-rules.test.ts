// Tests the amounts that Stripe does not accept in a currency: every operation with an amount refuses
// them, and writes nothing.
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from '@jest/globals'
import { reserveIntent } from '../../src/db/idempotency/intents.ts'
import { detailsOfPayment, insertPayments } from '../../src/db/payments/payments.ts'
import { fingerprintRequest } from '../../src/domain/idempotency/idempotency-key.ts'
import { paymentRequestOf } from '../../src/operations/create-payment/endpoint.ts'
import { countRows, reservationOf } from '../db/reservations.ts'
import { expectProblem } from '../http/payments.ts'
import { paymentBody, post, postPayment } from '../support/client.ts'
import { service, tenant } from '../support/shared-service.ts'

const pay = (fields: object, options = {}) =>
  postPayment(service.apiUrl, tenant, paymentBody({ ...fields }), options)

const TABLES = ['payments', 'refunds', 'idempotency_keys', 'events', 'phase_runs']

/** The number of the tenant's rows in each table that an operation writes. */
const countAll = () =>
  Promise.all(TABLES.map((table) => countRows(service.store.sql, table, tenant.id)))

test.each([
  ['usd', 49, 'amount-too-small', 50],
  ['isk', 550, 'invalid-amount', 500],
  ['kwd', 5_124, 'invalid-amount', 5_120],
] as const)(
  'a payment in %s of %d is refused as %s, and its key stays unused',
  async (currency, amount, problem, accepted) => {
    const key = randomUUID()
    const before = await countAll()

    const refused = await pay({ currency, amount }, { key })

    expectProblem(refused, problem)
    expect(refused.json['errors']).toEqual([
      { pointer: '/amount', detail: expect.stringContaining(` in ${currency}`) },
    ])
    expect(await countAll()).toEqual(before)
    expect(await pay({ currency, amount: accepted }, { key })).toMatchObject({
      status: 201,
      json: { status: 'succeeded', amount: accepted, currency },
    })
  },
)

test.each([
  ['idr', 999_999_999_999],
  ['usd', 99_999_999],
])('the largest payment in %s is %d', async (currency, amount) => {
  const before = await countAll()

  expectProblem(await pay({ currency, amount: amount + 1 }), 'invalid-amount')

  expect(await countAll()).toEqual(before)
  const paid = await pay({ currency, amount })
  expect(paid).toMatchObject({ status: 201, json: { amount, amount_captured: amount } })
  const path = `/v1/payments/${String(paid.json['id'])}/refunds`
  const refunded = await post(service.apiUrl, tenant, path, {})
  expect(refunded).toMatchObject({ status: 201, json: { amount } })
})

test('a hold is not raised above the largest amount of its currency', async () => {
  const held = await pay({ currency: 'usd', amount: 10_000, capture_method: 'manual' })
  const path = `/v1/payments/${String(held.json['id'])}/adjust`

  const refused = await post(service.apiUrl, tenant, path, { amount: 100_000_000 })

  expectProblem(refused, 'invalid-amount')
})

describe.each([
  ['capture', 'manual', 'isk', 550, 'invalid-amount', 500],
  ['refunds', 'automatic', 'isk', 550, 'invalid-amount', 500],
  ['adjust', 'manual', 'isk', 10_050, 'invalid-amount', 10_100],
  ['adjust', 'manual', 'usd', 49, 'amount-too-small', 10_001],
] as const)('%s of a payment', (action, captureMethod, currency, amount, problem, accepted) => {
  test(`of ${amount} ${currency} is refused as ${problem}, and its key stays unused`, async () => {
    const made = await pay({ currency, amount: 10_000, capture_method: captureMethod })
    const key = randomUUID()
    const path = `/v1/payments/${String(made.json['id'])}/${action}`
    const before = await countAll()

    const refused = await post(service.apiUrl, tenant, path, { amount }, { key })

    expectProblem(refused, problem)
    expect(await countAll()).toEqual(before)
    const answer = await post(service.apiUrl, tenant, path, { amount: accepted }, { key })
    expect([200, 201]).toContain(answer.status)
  })
})

test('a retry of an operation that an earlier version accepted gets its response', async () => {
  const key = randomUUID()
  const body = paymentBody({ amount: 49 })
  const fingerprint = fingerprintRequest({ method: 'POST', path: '/v1/payments', body })
  const { sql } = service.store
  const paymentMethod = String(body['payment_method'])
  const details = detailsOfPayment({ ...paymentRequestOf(body), paymentMethod }, 'stripe')
  const intent = reservationOf(tenant.id, { key, fingerprint, details })
  await reserveIntent(sql, intent, insertPayments)
  // A new payment wakes the worker.
  await pay({})
  const retry = () =>
    postPayment(service.apiUrl, tenant, body, { key, headers: { prefer: 'wait=20' } })

  const first = await retry()

  expectProblem(first, 'payment-declined')
  expect(first.json['payment']).toMatchObject({ failure: { code: 'amount_too_small' } })
  expect((await retry()).text).toBe(first.text)
})
