// A completed idempotency key, as the database returns it.
import { randomUUID } from 'node:crypto'
import type { IdempotencyKey } from '../../src/db/idempotency/idempotency-keys.ts'

/** It expires in a day. */
export function completedKey(fields: Partial<IdempotencyKey> = {}): IdempotencyKey {
  return {
    tenantId: randomUUID(),
    id: randomUUID(),
    key: randomUUID(),
    fingerprint: Buffer.alloc(32, 1),
    validated: { version: 1, fingerprint: Buffer.alloc(32, 2) },
    operation: 'payment.create',
    paymentId: randomUUID(),
    refundId: null,
    status: 'completed',
    recoveryPoint: 'finished',
    attempts: 1,
    dueInSeconds: null,
    createdAt: new Date(),
    expiresAt: new Date(Date.now() + 86_400_000),
    earlier: null,
    cancellation: null,
    response: { status: 201, headers: { location: '/v1/payments/pay_1' }, body: '{"id":"pay_1"}' },
    ...fields,
  }
}
