// Tests what Braintree's events name: a transaction, a refund, a dispute, or nothing of ours.
import { randomUUID } from 'node:crypto'
import { expect, test } from '@jest/globals'
import { showOrderId } from '../order-id.ts'
import { createBraintreeEventReader } from '../webhooks.ts'
import { KEYS } from './adapter-calls.ts'
import { notificationOf } from './fixture.ts'

const ids = { tenantId: randomUUID(), paymentId: randomUUID(), operationId: randomUUID() }
const orderId = showOrderId({ ...ids, refundId: null })
const subject = { tenantId: ids.tenantId, paymentId: ids.paymentId }
const timestamp = new Date('2026-11-27T10:00:00Z')

const read = createBraintreeEventReader({ ...KEYS, now: () => timestamp.getTime() })
const readNotification = (members: Parameters<typeof notificationOf>[0]) =>
  read(Buffer.from(notificationOf({ timestamp, ...members }).body))

test.each([
  [
    'a transaction',
    'transaction_settled',
    { transaction: { id: 'sale1', orderId } },
    { about: 'payment', objectId: 'sale1', providerPaymentId: 'sale1', subject },
  ],
  [
    'a refund, which names its sale',
    'refund_failed',
    { transaction: { id: 'refund1', orderId, refundedTransactionId: 'sale1' } },
    { about: 'payment', objectId: 'refund1', providerPaymentId: 'sale1', subject },
  ],
  [
    'the transaction of another client',
    'transaction_disbursed',
    { transaction: { id: 'sale1', orderId: 'order-7' } },
    { about: 'payment', providerPaymentId: 'sale1', subject: null },
  ],
  [
    'a dispute, which names its transaction',
    'dispute_opened',
    { dispute: { id: 'dispute1', transaction: { id: 'sale1', orderId } } },
    { about: 'dispute', objectId: 'dispute1', providerPaymentId: 'sale1', subject: null },
  ],
  [
    'a test of the endpoint',
    'check',
    { check: true },
    { about: 'payment', objectId: '', providerPaymentId: null, subject: null },
  ],
])('%s: %s', async (_title, kind, members, expected) => {
  const event = await readNotification({ kind, subject: members })

  expect(event).toMatchObject({
    provider: 'braintree',
    type: kind,
    occurredAt: timestamp,
    ...expected,
  })
})

test('two events of the same transaction have different ids', async () => {
  const members = { transaction: { id: 'sale1', orderId } }
  const settled = await readNotification({ kind: 'transaction_settled', subject: members })
  const disbursed = await readNotification({ kind: 'transaction_disbursed', subject: members })

  expect(settled.id).not.toBe(disbursed.id)
})
