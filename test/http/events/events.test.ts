// Events of payments and refunds in `/v1/events`.
import { randomUUID } from 'node:crypto'
import { expect, test } from '@jest/globals'
import { get, paymentBody, post, postPayment } from '../../support/client.ts'
import { service, tenant } from '../../support/shared-service.ts'
import { makePayment, readPayment } from '../payments.ts'

interface ShownEvent {
  readonly id: string
  readonly type: string
  readonly created_at: string
  readonly data: { readonly object: Record<string, unknown> }
  readonly request: { readonly idempotency_key: string | null }
}

async function listEvents(query: string, owner = tenant): Promise<ShownEvent[]> {
  const { json } = await get(service.apiUrl, owner, `/v1/events?${query}`)
  return json['data'] as ShownEvent[]
}

const typesOf = (events: readonly ShownEvent[]) => events.map(({ type }) => type).toReversed()

test('a payment that succeeds has an event for each step, with the payment as it was then', async () => {
  const key = randomUUID()
  const { json: payment } = await postPayment(service.apiUrl, tenant, paymentBody(), { key })

  const [last, ...earlier] = await listEvents(`payment=${String(payment['id'])}`)

  expect(last).toEqual({
    id: expect.stringMatching(/^evt_[0-9a-z]{26}$/),
    object: 'event',
    type: 'payment.succeeded',
    data: { object: payment },
    request: { idempotency_key: key },
    created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    timestamp: last?.created_at,
  })
  expect(earlier).toMatchObject([
    {
      type: 'payment.created',
      data: { object: { id: payment['id'], status: 'processing', amount_captured: 0 } },
      request: { idempotency_key: key },
    },
  ])
})

test.each([
  ['declined', ['payment.created', 'payment.declined']],
  ['requires_capture', ['payment.created', 'payment.requires_capture']],
  ['requires_action', ['payment.created', 'payment.requires_action']],
  [
    'canceled',
    ['payment.created', 'payment.requires_capture', 'payment.processing', 'payment.canceled'],
  ],
] as const)('a payment that ends as %s has the events of its steps', async (status, types) => {
  const payment = await makePayment(service, tenant, status)

  const events = await listEvents(`payment=${payment.id}`)

  expect(typesOf(events)).toEqual(types)
  expect(events[0]?.data.object).toEqual(await readPayment(service, tenant, payment))
})

test('an earlier event has the payment as it was at that time', async () => {
  const payment = await makePayment(service, tenant, 'requires_capture')
  await post(service.apiUrl, tenant, `/v1/payments/${payment.id}/capture`)

  const [event] = await listEvents(`payment=${payment.id}&type=payment.requires_capture`)

  expect(event?.data.object).toEqual(payment)
})

test('the events of a payment include its refunds', async () => {
  const payment = await makePayment(service, tenant, 'succeeded')
  const path = `/v1/payments/${payment.id}/refunds`
  const refund = await post(service.apiUrl, tenant, path, { amount: 5 }, { key: 'refund-it' })

  const events = await listEvents(`payment=${payment.id}`)

  expect(typesOf(events)).toEqual([
    'payment.created',
    'payment.succeeded',
    'refund.created',
    'refund.succeeded',
  ])
  expect(events[0]).toMatchObject({
    data: { object: refund.json },
    request: { idempotency_key: 'refund-it' },
  })
})
