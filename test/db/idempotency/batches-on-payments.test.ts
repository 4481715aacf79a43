// Tests that operations on existing payments share statements: captures, and refunds.
import { randomUUID, randomUUIDv7 } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import type { Store } from '../../../src/db/connection/client.ts'
import {
  batchReservations,
  IntentRefusedError,
  reserveEach,
} from '../../../src/db/idempotency/intents.ts'
import type { Intent, WriteResources } from '../../../src/db/idempotency/intent.ts'
import { markProcessingIfIn } from '../../../src/db/payments/payments.ts'
import { insertRefunds } from '../../../src/db/payments/refunds.ts'
import { openServiceStore } from '../../support/service-store.ts'
import { countRows, makeTenant, reservationOf, reserve } from '../reservations.ts'
import { watchBatches, type WatchedBatches } from '../watch-batches.ts'
import { database, store as owner } from '../../support/own-store.ts'

/** With the role of the service, so that row-level security applies. */
let store: Store
let tenantId: string
let batches: WatchedBatches

beforeAll(async () => {
  store = openServiceStore(database.url)
})
beforeEach(async () => {
  tenantId = await makeTenant(owner)
  batches = watchBatches(store.sql)
})
afterAll(() => store.close())

async function paymentIn(status: 'requires_capture' | 'succeeded'): Promise<string> {
  const { paymentId } = await reserve(owner.sql, reservationOf(tenantId))
  await owner.sql`
    update payments set
      previous_status = 'processing', status = ${status}, provider_payment_id = ${randomUUID()},
      amount_captured_minor = amount_minor * ${status === 'succeeded' ? 1 : 0}::int
    where tenant_id = ${tenantId} and id = ${paymentId}
  `
  return paymentId ?? ''
}

const paymentsIn = (status: 'requires_capture' | 'succeeded', count: number) =>
  Promise.all(Array.from({ length: count }, () => paymentIn(status)))

/** As for a capture of half of the payment, at most. */
const capturing = markProcessingIfIn(
  ['requires_capture'],
  (payment, { amount_minor: amount }) => Number(amount) <= payment.amountMinor / 2,
)

function captureOf(paymentId: string, amount = 500): Intent {
  const parameters = { amount_minor: amount }
  return reservationOf(tenantId, {
    operation: 'payment.capture',
    paymentId,
    parameters,
    details: {},
  })
}

function refundOf(paymentId: string, amountMinor: number | null): Intent {
  const details = { amountMinor, reason: null, reference: null, metadata: { for: paymentId } }
  const ids = { paymentId, refundId: randomUUIDv7() }
  return reservationOf(tenantId, { operation: 'refund.create', ...ids, details })
}

/** Reserves in one turn of the event loop. */
async function reserveTogether(intents: readonly Intent[], resource: WriteResources) {
  const { sql } = batches
  const reserveOne = batchReservations()
  const results = await Promise.allSettled(
    intents.map((intent) => reserveOne(sql, intent, resource)),
  )
  return results.map((result) => {
    if (result.status === 'fulfilled') return result.value.resource
    expect(result.reason).toBeInstanceOf(IntentRefusedError)
    return 'refused'
  })
}

test('captures of several payments share a statement, and each marks its own', async () => {
  const [one = '', other = ''] = await paymentsIn('requires_capture', 2)
  const intents = [captureOf(one), captureOf(other)]

  const resources = await reserveTogether(intents, capturing)

  expect(batches.sizes).toEqual([2])
  expect(resources).toMatchObject([one, other].map((id) => ({ id, status: 'processing' })))
  const events = await owner.sql`
    select payment_id, idempotency_key from events
    where tenant_id = ${tenantId} and type = 'payment.processing'
  `
  const named = new Map(events.map((row) => [row['payment_id'], row['idempotency_key']]))
  expect(named).toEqual(new Map(intents.map(({ paymentId, key }) => [paymentId, key])))
})

test('one that the state refuses is refused, writes nothing, and the others are reserved', async () => {
  const [held = '', large = ''] = await paymentsIn('requires_capture', 2)
  const intents = [
    captureOf(held),
    captureOf(await paymentIn('succeeded')),
    captureOf(large, 1_999),
    captureOf(await paymentIn('requires_capture')),
  ]

  const resources = await reserveTogether(intents, capturing)

  expect(batches.sizes).toEqual([4])
  const processing = { status: 'processing' }
  expect(resources).toMatchObject([processing, 'refused', 'refused', processing])
  const captures = await owner.sql`
    select id from idempotency_keys
    where tenant_id = ${tenantId} and operation = 'payment.capture'
  `
  const reserved = intents.filter((_, index) => resources[index] !== 'refused')
  expect(new Set(captures.map(({ id }) => id as string))).toEqual(
    new Set(reserved.map(({ id }) => id)),
  )
})

test('of two captures of one payment one wins, and the other is refused', async () => {
  const [one = '', other = ''] = await paymentsIn('requires_capture', 2)

  const resources = await reserveTogether(
    [captureOf(one), captureOf(other), captureOf(one)],
    capturing,
  )

  // If the one that runs alone wins, the others are tried singly.
  expect(new Set(batches.sizes.slice(0, 2))).toEqual(new Set([1, 2]))
  expect(resources.filter((resource) => resource === 'refused')).toHaveLength(1)
  expect(resources[1]).toMatchObject({ id: other, status: 'processing' })
  expect(await countRows(owner.sql, 'idempotency_keys', tenantId)).toBe(2 + 2)
})

test('refunds of several payments share a statement, each with its own amount', async () => {
  const [one = '', other = ''] = await paymentsIn('succeeded', 2)

  const resources = await reserveTogether(
    [refundOf(one, 500), refundOf(other, null)],
    insertRefunds,
  )

  expect(batches.sizes).toEqual([2])
  expect(resources).toMatchObject([
    { payment_id: one, amount_minor: 500, metadata: { for: one } },
    { payment_id: other, amount_minor: 1999, metadata: { for: other } },
  ])
  const rows = await owner.sql`
    select id, amount_refunding_minor::int as refunding from payments where tenant_id = ${tenantId}
  `
  const refunding = new Map(rows.map((row) => [row['id'], row['refunding']]))
  expect(refunding).toEqual(
    new Map([
      [one, 500],
      [other, 1999],
    ]),
  )
})

test('two refunds of one payment never exceed its capture', async () => {
  const paymentId = await paymentIn('succeeded')

  const resources = await reserveTogether(
    [refundOf(paymentId, 1_500), refundOf(paymentId, 1_500)],
    insertRefunds,
  )

  expect(resources.filter((resource) => resource === 'refused')).toHaveLength(1)
  expect(await countRows(owner.sql, 'refunds', tenantId)).toBe(1)
})

test('a statement with two intents about one payment is refused before it is sent', async () => {
  const paymentId = await paymentIn('requires_capture')
  const intents = [captureOf(paymentId), captureOf(paymentId)]

  const together = reserveEach(batches.sql, intents, capturing)

  await expect(together).rejects.toThrow('two intents are about one payment')
  expect(batches.sizes).toEqual([])
})
