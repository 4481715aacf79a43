// GET /v1/idempotency-keys/:key
import { findIdempotencyKey } from '../db/idempotency-keys.ts'
import { ProblemError } from '../domain/errors.ts'
import { showPaymentId } from '../domain/payment.ts'
import { showRefundId } from '../domain/refund.ts'
import { showJson } from './answer.ts'
import type { TenantEndpoint } from './endpoint.ts'

/** What a key can be, in quotes: RFC 9651 section 3.3.3. */
const KEY = /^[\x20-\x7E]{1,255}$/

export const getIdempotencyKey: TenantEndpoint = async ({ store }, request, tenantId) => {
  const named = String(request.params['key'])
  const key = KEY.test(named) ? await findIdempotencyKey(store.sql, tenantId, named) : undefined
  if (key === undefined) throw new ProblemError('resource-not-found')
  return showJson({
    object: 'idempotency_key',
    key: key.key,
    operation: key.operation,
    status: key.status,
    recovery_point: key.recoveryPoint,
    attempts: key.attempts,
    resource:
      key.refundId === null
        ? { object: 'payment', id: showPaymentId(key.paymentId) }
        : { object: 'refund', id: showRefundId(key.refundId) },
    created_at: key.createdAt.toISOString(),
    expires_at: key.expiresAt.toISOString(),
  })
}
