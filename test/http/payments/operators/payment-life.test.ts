// A payment of any tenant with its life, for operators.
import { randomUUID } from 'node:crypto'
import { beforeAll, expect, test } from '@jest/globals'
import type { Sql } from '../../../../src/db/connection/client.ts'
import { showPaymentId } from '../../../../src/domain/payments/payment.ts'
import { showId } from '../../../../src/domain/resource-id.ts'
import { LeaseLostError } from '../../../../src/engine/lease.ts'
import { runOperation } from '../../../../src/engine/run-phases.ts'
import { resolveDue } from '../../../../src/recovery/outcome-resolver.ts'
import { makeUnknown, shownId } from '../../../support/admin.ts'
import type { Accepted, PaymentRef } from '../../../support/engine.ts'
import { aroundCall } from '../../../support/engine-doubles.ts'
import { deliverOf, disputed } from '../../../operations/follow-dispute/disputes.ts'
import { applyAll } from '../../../operations/follow-payment/provider-events.ts'
import { captured } from '../../../operations/made-payments.ts'
import { makeEndpoint, type MadeEndpoint } from '../../webhooks/operators/tenant-webhooks.ts'
import { adminApi } from '../../../support/for-file.ts'

type Json = Record<string, unknown>
type Life = Record<string, Json[]>

const api = adminApi()
let sql: Sql
let endpoint: MadeEndpoint

beforeAll(async () => {
  ;({ sql } = api.t.engine.store)
  endpoint = await makeEndpoint(sql, api.t.tenantId)
})

const pathOf = ({ paymentId }: PaymentRef) => `/admin/payments/${showPaymentId(paymentId)}`

async function readLife(payment: PaymentRef): Promise<Life> {
  const { status, json } = await api.get(pathOf(payment))
  expect(status).toBe(200)
  return json['life'] as Life
}

/** The worker that owns the operation dies before its first call, and another one takes over. */
async function runAfterTakeover(ref: Accepted): Promise<void> {
  await sql`
    update idempotency_keys set
      status = 'processing', lease_epoch = 1, attempts = 1, phase_began_at = now(),
      lease_expires_at = now() - interval '1 second'
    where id = ${ref.id}
  `
  expect(await runOperation(api.t.engine, ref)).toBe('finished')
}

/** Records that the receiver answered the first delivery of the payment with an error. */
async function failDelivery({ paymentId }: PaymentRef): Promise<void> {
  await sql`
    insert into webhook_attempts (
      tenant_id, id, delivery_id, number, started_at, latency_ms, http_status
    )
    select tenant_id, ${randomUUID()}, id, 1, now(), 12, 500
    from webhook_deliveries
    where event_id in (select id from events where payment_id = ${paymentId})
    order by id limit 1
  `
}

/** Records that requests used the idempotency key again. Returns when. */
async function countReplays({ tenantId, id }: Accepted): Promise<string> {
  const [row] = await sql<{ at: Date }[]>`
    insert into key_replays (
      tenant_id, operation_id, replays, conflicts, mismatches, first_at, last_at
    )
    values (${tenantId}, ${id}, 3, 1, 2, now(), now())
    returning date_trunc('milliseconds', last_at) as at
  `
  return new Date(row?.at ?? 0).toISOString()
}

test('shows a capture, a partial refund, a failed webhook and a takeover, oldest first', async () => {
  const created = await api.t.accept({ captureMethod: 'manual' })
  await runOperation(api.t.engine, created)
  const capture = await api.t.acceptCapture(created, 1_500)
  await runAfterTakeover(capture)
  const refund = await api.t.acceptRefund(created, 500)
  await runOperation(api.t.engine, refund)
  await failDelivery(created)
  const replayedAt = await countReplays(created)

  const { status, json } = await api.get(pathOf(created))

  expect(status).toBe(200)
  const { life, ...payment } = json as Json & { life: Life }
  const list = await api.get(`/admin/payments?key=${created.id}`)
  expect(list.json['data']).toEqual([payment])
  expect(payment).toMatchObject({
    id: showPaymentId(created.paymentId),
    tenant: showId('tnt', api.t.tenantId),
    operation: null,
    amount_captured: 1_500,
    amount_refunded: 500,
  })

  const operations = [created, capture, refund].map((ref) => ({
    id: shownId(ref),
    idempotency_key: ref.id,
    status: 'completed',
    created_at: expect.any(String),
    completed_at: expect.any(String),
  }))
  expect(life['operations']).toMatchObject(operations)
  const never = { count: 0, conflicts: 0, mismatches: 0, first_at: null, last_at: null }
  expect(life['operations']?.map((operation) => operation['request_replays'])).toEqual([
    { count: 3, conflicts: 1, mismatches: 2, first_at: replayedAt, last_at: replayedAt },
    never,
    never,
  ])
  expect(
    life['operations']?.map(({ operation, lease_epoch: epoch }) => [operation, epoch]),
  ).toEqual([
    ['payment.create', 1],
    ['payment.capture', 2],
    ['refund.create', 1],
  ])
  const runs = (life['runs'] ?? []).filter((run) => run['operation_id'] === shownId(capture))
  expect(runs[0]).toMatchObject({ object: 'phase_run', phase: null })
  expect(runs.slice(1).map((run) => run['lease_epoch'])).toEqual(runs.slice(1).map(() => 2))
  expect(new Set(life['runs']?.map((run) => run['operation_id']))).toEqual(
    new Set(operations.map(({ id }) => id)),
  )
  const types = life['events']?.map(({ type }) => type)
  expect(types).toEqual(life['deliveries']?.map((delivery) => delivery['event_type']))
  expect(types).toEqual(expect.arrayContaining(['payment.succeeded', 'refund.succeeded']))
  expect(life['deliveries']?.[0]).toMatchObject({
    endpoint: endpoint.id,
    attempts: [{ number: 1, http_status: 500 }],
  })
  expect(life['ledger']?.map(({ kind }) => kind)).toEqual(['capture', 'refund'])
  expect(life['refunds']).toMatchObject([{ amount: 500, status: 'succeeded' }])
  expect(life).toMatchObject({ disputes: [], has_more: false, incomplete: [] })
  for (const name of ['operations', 'events', 'deliveries', 'ledger']) {
    const times = life[name]?.map((entry) => String(entry['created_at'])) ?? []
    expect(times.length).toBeGreaterThan(1)
    expect(times).toEqual(times.toSorted((one, other) => one.localeCompare(other)))
  }
})

test('shows the runs of both workers of an operation that was taken over', async () => {
  const { engine } = api.t
  const ref = await api.t.accept()
  const first = aroundCall(engine, 'capture', async (call) => {
    await api.t.expireLease(ref)
    expect(await runOperation(engine, ref)).toBe('finished')
    return await call()
  })
  await expect(runOperation(first, ref)).rejects.toThrow(LeaseLostError)

  const life = await readLife(ref)

  expect(life['operations']).toMatchObject([{ lease_epoch: 2, status: 'completed' }])
  const runs = life['runs']?.map((run) => [run['phase'], run['lease_epoch'], run['attempt']])
  expect(runs).toEqual([
    [null, 0, 0],
    ['started', 1, 1],
    ['authorized', 2, 2],
    ['captured', 2, 2],
  ])
})

test('shows the dispute of a payment, and the operation that follows it', async () => {
  const dispute = await disputed(api.t)
  expect(await applyAll(api.t, [await deliverOf(api.t, dispute)])).toEqual(['applied'])

  const life = await readLife(dispute.payment)

  expect(life['disputes']).toMatchObject([{ provider: { dispute_id: dispute.objectId } }])
  expect(life['operations']).toMatchObject([
    { operation: 'payment.create' },
    { operation: 'dispute.follow', idempotency_key: null },
  ])
})

test('shows the operation that works on the payment, which has no end', async () => {
  const payment = await captured(api.t)
  const refund = await api.t.acceptRefund(payment, 500)

  const { json } = await api.get(pathOf(payment))

  expect(json['operation']).toMatchObject({ id: shownId(refund), status: 'pending' })
  expect((json['life'] as Life)['operations']?.at(-1)).toMatchObject({
    id: shownId(refund),
    completed_at: null,
  })
})

const SLOW_MS = 100
const at = (run: Json | undefined, name: string) => Date.parse(String(run?.[name]))
const tookMs = (run: Json | undefined) => at(run, 'ended_at') - at(run, 'started_at')
const isLookUp = ({ provider }: Json) => (provider as Json | null)?.['kind'] === 'look'

test('a call ends with its answer, not when it is recorded together with the next one', async () => {
  const ref = await api.t.accept()
  await api.t.provider.addFault({ match: {}, fault: 'unavailable', times: 1 })
  await api.t.provider.addFault({ match: {}, fault: 'delay', delay_ms: SLOW_MS, times: 1 })
  expect(await runOperation(api.t.engine, ref)).toBe('finished')

  const [intent, first, second] = (await readLife(ref))['runs'] ?? []
  expect(intent).toMatchObject({ ended_at: null })
  expect(first).toMatchObject({ provider: { outcome: 'unknown' } })
  expect(first?.['recorded_at']).toBe(second?.['recorded_at'])
  expect(at(first, 'ended_at')).toBeGreaterThanOrEqual(at(first, 'started_at'))
  expect(at(first, 'ended_at')).toBeLessThanOrEqual(at(second, 'started_at'))
  expect(tookMs(second)).toBeGreaterThan(SLOW_MS / 2)
})

test('so does a lookup, by the worker of the call and by the outcome resolver', async () => {
  const { engine, provider } = api.t
  const slowLookUp = () =>
    provider.addFault({ match: { method: 'GET' }, fault: 'delay', delay_ms: SLOW_MS, times: 1 })
  const atOnce = await api.t.accept()
  await slowLookUp()
  await provider.addFault({ match: {}, fault: 'error_500_final', times: 1 })
  await runOperation(engine, atOnce)
  const later = await makeUnknown(api)
  await api.post(`/admin/operations/${shownId(later)}/resume`)
  await slowLookUp()
  await resolveDue(engine)

  for (const ref of [atOnce, later]) {
    const looked = (await readLife(ref))['runs']?.find(isLookUp)
    expect(tookMs(looked)).toBeGreaterThan(SLOW_MS / 2)
    expect(at(looked, 'ended_at')).toBeLessThanOrEqual(at(looked, 'recorded_at'))
  }
})

test('says which lists have more than it shows', async () => {
  const payment = await captured(api.t)
  const [first] = (await readLife(payment))['events'] ?? []
  await sql`
    insert into events (tenant_id, id, type, payment_id, object)
    select tenant_id, overlay(gen_random_uuid()::text placing 'ffffffff' from 1)::uuid,
      'payment.early_fraud_warning', payment_id, object
    from events cross join generate_series(1, 100)
    where payment_id = ${payment.paymentId}
  `
  await sql`
    insert into phase_runs (
      tenant_id, id, payment_id, operation_id, operation, phase, attempt, lease_epoch, started_at
    )
    select tenant_id, gen_random_uuid(), payment_id, operation_id, operation, 'started', number, 1, now()
    from (select * from phase_runs where payment_id = ${payment.paymentId} limit 1) as run
    cross join generate_series(1, 100) as number
  `

  const life = await readLife(payment)

  expect(life['events']).toHaveLength(100)
  expect(life['events']?.[0]).toEqual(first)
  expect(life['runs']).toHaveLength(100)
  expect(life).toMatchObject({ has_more: true, incomplete: ['runs', 'events', 'deliveries'] })
})
