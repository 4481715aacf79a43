// Payments of all tenants, for operators: the list and its filters.
import { randomUUIDv7 } from 'node:crypto'
import { beforeAll, expect, test } from '@jest/globals'
import type { Sql } from '../../../../src/db/connection/client.ts'
import { showPaymentId } from '../../../../src/domain/payments/payment.ts'
import { showId } from '../../../../src/domain/resource-id.ts'
import { runOperation } from '../../../../src/engine/run-phases.ts'
import { makeAbandoned, makeCompleted, makeUnknown, shownId } from '../../../support/admin.ts'
import type { Accepted } from '../../../support/engine.ts'
import { asked } from '../../../operations/made-payments.ts'
import { adminApi } from '../../../support/for-file.ts'

const PAYMENTS = '/admin/payments'
const UNKNOWN = '01890a5d-ac96-774b-bcce-b302099a8057'

const api = adminApi()
let sql: Sql
let other: string
/** Oldest first. */
let ids: string[]
let completed: Accepted
let refunded: Accepted & { refundId: string }
let abandoned: Accepted
let jobless: Accepted

beforeAll(async () => {
  ;({ sql } = api.t.engine.store)
  other = randomUUIDv7()
  await sql`insert into tenants (id, name) values (${other}, 'Shop')`
  completed = await makeCompleted(api)
  const ofOther = await makePaymentOf(other)
  refunded = await api.t.acceptRefund(completed, 500)
  await runOperation(api.t.engine, refunded)
  const unknown = await makeUnknown(api)
  abandoned = await makeAbandoned(api)
  jobless = await api.t.accept({ amountMinor: 700, currency: 'eur' })
  await sql`delete from atomic_jobs.job where data ->> 'operationId' = ${jobless.id}`
  const waiting = await api.t.accept()
  const toAct = await asked(api.t)
  ids = [completed.paymentId, ofOther, unknown, abandoned, jobless, waiting, toAct].map((made) =>
    showPaymentId(typeof made === 'string' ? made : made.paymentId),
  )
})

async function makePaymentOf(tenantId: string): Promise<string> {
  const id = randomUUIDv7()
  await sql`
    insert into payments (
      tenant_id, id, amount_minor, currency, status, previous_status, capture_method, payment_method,
      metadata, provider, failure_code
    )
    values (
      ${tenantId}, ${id}, 1999, 'usd', 'declined', 'processing', 'automatic', 'pm_1', '{}', 'stripe',
      'card_declined'
    )
  `
  return id
}

/** The payments that the query returns, by their places in `ids`. */
async function listed(query: string): Promise<number[]> {
  const { status, json } = await api.get(`${PAYMENTS}?limit=100&${query}`)
  expect(status).toBe(200)
  return (json['data'] as { id: string }[]).map(({ id }) => ids.indexOf(id))
}

test('lists the payments of all tenants, newest first, each with its tenant and operation', async () => {
  const { json } = await api.get(PAYMENTS)
  const own = showId('tnt', api.t.tenantId)

  expect(json).toMatchObject({ object: 'list', has_more: false })
  expect((json['data'] as { id: string }[]).map(({ id }) => id)).toEqual(ids.toReversed())
  expect((json['data'] as object[]).toReversed()).toMatchObject([
    { status: 'succeeded', tenant: own, operation: null, amount_refunded: 500 },
    { status: 'declined', tenant: showId('tnt', other), operation: null },
    { status: 'unknown', operation: { operation: 'payment.create', status: 'unknown' } },
    { status: 'processing', operation: { id: shownId(abandoned), status: 'processing' } },
    {
      currency: 'eur',
      operation: { id: shownId(jobless), status: 'pending', recovery_point: 'started' },
    },
    { operation: { status: 'pending' } },
    { status: 'requires_action', operation: null },
  ])
})

test('shows the newest of several operations that are not completed', async () => {
  const [first, second] = [
    await api.t.acceptRefund(completed, 1),
    await api.t.acceptRefund(completed, 1),
  ]
  const { json } = await api.get(`${PAYMENTS}?key=${completed.id}`)

  expect(json['data']).toMatchObject([
    { id: ids[0], operation: { id: shownId(second), operation: 'refund.create' } },
  ])
  for (const ref of [first, second]) await runOperation(api.t.engine, ref)
})

test('filters by tenant, status, currency and amount', async () => {
  expect(await listed(`tenant=${showId('tnt', other)}`)).toEqual([1])
  expect(await listed(`tenant=${showId('tnt', UNKNOWN)}`)).toEqual([])
  expect(await listed('status=processing')).toEqual([5, 4, 3])
  expect(await listed('status=canceled')).toEqual([])
  expect(await listed('currency=eur')).toEqual([4])
  expect(await listed('amount=700')).toEqual([4])
  expect(await listed('amount=700&currency=usd')).toEqual([])
  expect(await listed(`status=declined&amount=1999&tenant=${showId('tnt', other)}`)).toEqual([1])
})

test('finds what waits for a lost worker or a job that is gone', async () => {
  expect(await listed('stuck=true')).toEqual([4, 3])
  expect(await listed('stuck=true&currency=eur')).toEqual([4])
  expect(await listed(`stuck=true&tenant=${showId('tnt', other)}`)).toEqual([])
  expect(await listed(`stuck=true&starting_after=${ids[4]}`)).toEqual([3])
})

test('finds the payment of an idempotency key, also that of a refund', async () => {
  expect(await listed(`key=${completed.id}`)).toEqual([0])
  expect(await listed(`key=${refunded.id}`)).toEqual([0])
  expect(await listed('key=never-used')).toEqual([])
  expect(await listed(`key=${completed.id}&status=declined`)).toEqual([])
})

test('finds the payment of an id at the provider, also after its keys are gone', async () => {
  const { providerPaymentId } = await api.t.readPayment(completed)
  const { providerRefundId } = await api.t.readRefund(refunded)

  expect(await listed(`provider_id=${providerPaymentId}`)).toEqual([0])
  expect(await listed(`provider_id=${providerRefundId}`)).toEqual([0])
  expect(await listed('provider_id=pi_unknown')).toEqual([])
  expect(await listed(`provider_id=${providerPaymentId}&stuck=true`)).toEqual([])
})

test('goes on after a payment that no longer matches the filters', async () => {
  const left = ids[2]
  expect(await listed(`status=processing&starting_after=${ids[6]}`)).toEqual([5, 4, 3])
  expect(await listed(`stuck=true&starting_after=${ids[6]}`)).toEqual([4, 3])
  expect(await listed(`status=succeeded&starting_after=${left}`)).toEqual([0])
  expect(await listed(`stuck=true&ending_before=${left}`)).toEqual([4, 3])
  expect(await listed(`key=${completed.id}&starting_after=${left}`)).toEqual([0])
})

test('says that it looked at all payments', async () => {
  const { json } = await api.get(`${PAYMENTS}?currency=jpy`)

  expect(json).toEqual({ object: 'list', data: [], has_more: false, searched_to: null })
})
