// Disputes through the whole service: the provider's events make them appear.
import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from '@jest/globals'
import { get, post, postPayment, paymentBody } from '../../support/client.ts'
import { eventsOf } from '../../support/records.ts'
import { service, tenant } from '../../support/shared-service.ts'
import { until } from '../../support/until.ts'
import { expectProblem, expectReplay } from '../payments.ts'

beforeAll(async () => {
  await service.sendEvents()
})

interface Shown {
  readonly id: string
  readonly status: string
  readonly provider: { dispute_id: string; payment_id: string }
}

async function pay(payment_method: string): Promise<Shown> {
  const { json } = await postPayment(service.apiUrl, tenant, paymentBody({ payment_method }), {
    key: randomUUID(),
  })
  expect(json['status']).toBe('succeeded')
  return json as unknown as Shown
}

const list = async (query: string, reader = tenant) =>
  (await get(service.apiUrl, reader, `/v1/disputes${query}`)).json['data'] as Shown[]

/** Waits until the payment's dispute has the status, and its money is posted. */
async function disputeOf(payment: { id: string }, event = 'dispute.funds_withdrawn') {
  await until(async () => (await eventsOf(service.store, payment.id)).includes(event))
  const [dispute] = await list(`?payment=${payment.id}`)
  if (dispute === undefined) throw new Error('there is no dispute')
  return dispute
}

const refund = (payment: { id: string }, key = randomUUID()) =>
  post(service.apiUrl, tenant, `/v1/payments/${payment.id}/refunds`, {}, { key })

test('a dispute is shown, with its events and its ledger', async () => {
  const payment = await pay('pm_card_createDispute')

  const dispute = await disputeOf(payment)

  const { json } = await get(service.apiUrl, tenant, `/v1/disputes/${dispute.id}`)
  expect(json).toEqual({
    id: expect.stringMatching(/^dp_[0-9a-z]{26}$/),
    object: 'dispute',
    payment: payment.id,
    amount: 1999,
    amount_withdrawn: 1999,
    amount_reinstated: 0,
    currency: 'usd',
    fee: 1500,
    fee_currency: 'usd',
    reason: 'fraudulent',
    status: 'needs_response',
    evidence_due_at: expect.any(String),
    provider: { dispute_id: expect.stringMatching(/^du_/) },
    opened_at: expect.any(String),
    created_at: expect.any(String),
  })

  const events = await get(
    service.apiUrl,
    tenant,
    `/v1/events?payment=${payment.id}&type=dispute.created`,
  )
  expect(events.json['data']).toMatchObject([{ data: { object: { id: dispute.id } } }])
  const ledger = await get(
    service.apiUrl,
    tenant,
    `/v1/ledger/transactions?payment=${payment.id}&kind=dispute`,
  )
  expect(ledger.json['data']).toMatchObject([
    {
      dispute: dispute.id,
      entries: [
        { account: 'disputes', amount: 1999 },
        { account: 'provider_receivable', amount: -1999 },
      ],
    },
  ])
  const timeline = await get(service.apiUrl, tenant, `/v1/payments/${payment.id}/timeline`)
  expect(timeline.json['data']).toContainEqual(
    expect.objectContaining({
      operation: 'dispute.follow',
      provider: expect.objectContaining({ kind: 'look', amount: 1999, outcome: 'done' }),
    }),
  )
})

test('a dispute is found by its status, and by no other tenant', async () => {
  const dispute = await disputeOf(await pay('pm_card_createDispute'))
  await service.control('POST', `disputes/${dispute.provider.dispute_id}`, { status: 'lost' })
  await until(async () => (await list('?status=lost')).some(({ id }) => id === dispute.id))

  const idsWith = async (status: string) => (await list(`?status=${status}`)).map(({ id }) => id)
  expect(await idsWith('needs_response')).not.toContain(dispute.id)
  const stranger = await service.createTenant()
  expect(await list('', stranger)).toEqual([])
  const read = await get(service.apiUrl, stranger, `/v1/disputes/${dispute.id}`)
  expectProblem(read, 'resource-not-found')
})

describe('a refund', () => {
  test('that the provider refuses because of a dispute gets the same problem', async () => {
    await service.control('POST', 'webhooks', { lose: 1_000 })
    const payment = await pay('pm_card_createDispute')
    await service.control('POST', 'webhooks', { lose: 0 })
    const key = randomUUID()

    const answer = await refund(payment, key)

    expectProblem(answer, 'charge-disputed')
    expect(answer.json['refund']).toMatchObject({ status: 'declined' })
    expectReplay(await refund(payment, key), answer)
  })

  test('of a payment with an inquiry is made', async () => {
    const payment = await pay('pm_card_createDisputeInquiry')
    await disputeOf(payment, 'dispute.created')

    expect((await refund(payment)).status).toBe(201)
  })

  test('of a payment whose dispute is won is made', async () => {
    const payment = await pay('pm_card_createDispute')
    const { provider } = await disputeOf(payment)
    await service.control('POST', `disputes/${provider.dispute_id}`, { status: 'won' })
    await disputeOf(payment, 'dispute.funds_reinstated')

    expect((await refund(payment)).status).toBe(201)
  })
})
