// GET /v1/idempotency-keys/:key
import { findIdempotencyKey, type IdempotencyKey } from '../db/idempotency-keys.ts'
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
    resource: presentResource(key),
    created_at: key.createdAt.toISOString(),
    expires_at: key.expiresAt.toISOString(),
  })
}

/** What the operation makes or works on; null for one that is about no payment. */
function presentResource({ paymentId, refundId }: IdempotencyKey): Record<string, unknown> | null {
  if (refundId !== null) return { object: 'refund', id: showRefundId(refundId) }
  return paymentId === null ? null : { object: 'payment', id: showPaymentId(paymentId) }
}
