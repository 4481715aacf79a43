// Transactions that reserve, cancel and expire idempotency keys.
import { hash, randomUUIDv7 } from 'node:crypto'
import { requestCancellation } from '../../../src/db/idempotency/cancellations.ts'
import { dropResponses } from '../../../src/db/idempotency/dropped-responses.ts'
import type { Intent } from '../../../src/db/idempotency/intent.ts'
import { reserveEach } from '../../../src/db/idempotency/intents.ts'
import { deleteExpiredKeys, reportAbandoned } from '../../../src/recovery/reaper.ts'
import { doOnce } from '../../../src/http/keyed/keyed-locally.ts'
import { insertDispute } from '../../../src/db/payments/disputes.ts'
import {
  detailsOfPayment,
  insertPayments,
  markProcessingIfIn,
} from '../../../src/db/payments/payments.ts'
import { insertRefunds } from '../../../src/db/payments/refunds.ts'
import { insertEndpoint } from '../../../src/db/webhooks/webhook-endpoints.ts'
import { captured, held } from '../../operations/made-payments.ts'
import { t } from '../../support/own-engine.ts'
import { request, reservationOf, response } from '../reservations.ts'
import { newEndpoint, ofService, ofTenant, prepared, update, type Case } from './case.ts'

const intentOf = (fields: Partial<Intent>): Intent => reservationOf(t.tenantId, fields)

const refundOf = (paymentId: string, amountMinor: number): Intent =>
  intentOf({
    operation: 'refund.create',
    paymentId,
    refundId: randomUUIDv7(),
    details: { amountMinor, reason: null, reference: null, metadata: {} },
  })

export const providerStatus = {
  amountMinor: 1999,
  currency: 'usd',
  reason: 'fraudulent',
  status: 'needs_response',
  evidenceDueAt: null,
  withdrawnMinor: 1999,
  reinstatedMinor: 0,
  feeMinor: 1500,
  feeCurrency: 'usd',
} as const

/** An intent to follow a new dispute, and what inserts that. */
export function followDispute(paymentId: string) {
  const intent = intentOf({ operation: 'dispute.follow', paymentId, disputeId: randomUUIDv7() })
  const providerDisputeId = `du_${intent.id}`
  return {
    intent,
    write: insertDispute({ providerDisputeId, openedAt: new Date(), providerStatus }),
  }
}

export const keyCases: readonly Case[] = [
  prepared('an intent to make a payment, whose key has expired', async () => {
    const intent = intentOf({ details: detailsOfPayment(request, 'stripe') })
    await t.engine.store.sql`
      insert into key_tombstones (tenant_id, key_hash, expired_at)
      values (${t.tenantId}, ${hash('sha256', intent.key, 'buffer')}, now())
    `
    return (sql) => reserveEach(sql, [intent], insertPayments)
  }),
  prepared('intents to refund, one of them too much', async () => {
    const payments = [await captured(t), await captured(t)] as const
    const intents = payments.map(({ paymentId }, index) => refundOf(paymentId, 500 + index * 5_000))
    return (sql) => reserveEach(sql, intents, insertRefunds)
  }),
  prepared('an intent to capture', async () => {
    const { paymentId } = await held(t)
    const intent = intentOf({ operation: 'payment.capture', paymentId })
    return (sql) => reserveEach(sql, [intent], markProcessingIfIn(['requires_capture']))
  }),
  prepared('an intent to follow a dispute', async () => {
    const { intent, write } = followDispute((await captured(t)).paymentId)
    return (sql) => reserveEach(sql, [intent], write)
  }),
  prepared('a local operation', async () => {
    const { paymentId: _, ...reservation } = intentOf({})
    const operation = 'webhook_endpoint.create'
    const made = newEndpoint(randomUUIDv7())
    return (sql) =>
      doOnce(sql, { ...reservation, operation }, async (tx) => {
        await insertEndpoint(tx, made)
        return response
      })
  }),
  prepared('the wish to cancel', async () => {
    const { id, paymentId } = await t.accept()
    const operation = { tenantId: t.tenantId, id, paymentId }
    return ofTenant((tx) =>
      requestCancellation(tx, operation, { provider: 'stripe', retentionSeconds: 86_400 }),
    )
  }),
  prepared('the drop of a response', async () => {
    const payment = await captured(t)
    const [key] = await t.engine.store.sql<{ id: string }[]>`
      select id from idempotency_keys where payment_id = ${payment.paymentId}
    `
    const operation = { ...payment, id: key?.id ?? '', refundId: null }
    return ofTenant((tx) => dropResponses(tx, [operation], 'ietf'))
  }),
  {
    name: 'the deletion of expired keys, with their tombstones',
    before: update(`
      update idempotency_keys set expires_at = now() - interval '1 day' where status = 'completed'
    `),
    run: (sql) => deleteExpiredKeys(sql, 1),
  },
  prepared('a longer retention of what stopped half-way', async () => {
    const { id } = await t.accept()
    await t.engine.store.sql`
      update idempotency_keys set
        status = 'failed_retryable', recovery_point = 'authorized',
        expires_at = now() - interval '1 day'
      where id = ${id}
    `
    const retention = { KEY_RETENTION_SECONDS: 86_400 }
    return ofService((tx) => reportAbandoned(tx, { limit: 10, retention }))
  }),
]
