// Reserves a payment with the API's own statement, for benchmarks that measure single statements.
import { createHash, randomUUID, randomUUIDv7 } from 'node:crypto'
import type { Config } from '../src/config.ts'
import type { Sql } from '../src/db/connection/client.ts'
import type { Intent } from '../src/db/idempotency/intent.ts'
import { reserveIntent } from '../src/db/idempotency/intents.ts'
import { detailsOfPayment, insertPayments } from '../src/db/payments/payments.ts'
import { createPayment } from '../src/operations/create-payment/phases.ts'

const FINGERPRINT = createHash('sha256').update('a payment').digest()

const PAYMENT = {
  amountMinor: 1999,
  currency: 'usd',
  captureMethod: 'automatic',
  paymentMethod: 'pm_card_visa',
  customer: null,
  description: 'An order of the shop',
  reference: null,
  metadata: {},
} as const

/** @param settings only the retention of idempotency keys is used. */
export async function reservePayment(
  sql: Sql,
  tenantId: string,
  settings: Pick<Config, 'KEY_RETENTION_SECONDS'>,
  key: string = randomUUID(),
): Promise<Intent> {
  const reservation = {
    tenantId,
    id: randomUUIDv7(),
    key,
    fingerprint: FINGERPRINT,
    operation: createPayment.name,
    paymentId: randomUUIDv7(),
    refundId: null,
    parameters: {},
    retentionSeconds: settings.KEY_RETENTION_SECONDS,
    details: detailsOfPayment(PAYMENT, 'stripe'),
  }
  await reserveIntent(sql, reservation, insertPayments)
  return reservation
}
