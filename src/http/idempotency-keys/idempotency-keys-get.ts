// GET /v1/idempotency-keys/:key
import { findIdempotencyKey } from '../../db/idempotency/idempotency-keys.ts'
import type { IdempotencyKey } from '../../db/idempotency/idempotency-key-rows.ts'
import { findTombstone } from '../../db/idempotency/key-tombstones.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { showPaymentId } from '../../domain/payments/payment.ts'
import { showRefundId } from '../../domain/payments/refund.ts'
import { showJson, type Answer } from '../responses/answer.ts'
import { tombstoneHeaders, keyExpired } from '../keyed/tombstone-headers.ts'
import type { TenantEndpoint } from '../endpoint.ts'

/** What a key can be, in quotes: RFC 9651 section 3.3.3. */
const KEY = /^[\x20-\x7E]{1,255}$/

export const getIdempotencyKey: TenantEndpoint = async ({ store }, request, tenantId) => {
  const named = String(request.params['key'])
  if (!KEY.test(named)) throw new ProblemError('resource-not-found')
  const key = await findIdempotencyKey(store.sql, tenantId, named)
  if (key !== undefined) return showKey(key)
  const earlier = await findTombstone(store.sql, tenantId, named)
  throw earlier === undefined ? new ProblemError('resource-not-found') : keyExpired(earlier)
}

function showKey(key: IdempotencyKey): Answer {
  const shown = showJson({
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
  const headers = key.earlier === null ? {} : tombstoneHeaders(key.earlier)
  return { ...shown, headers: { ...shown.headers, ...headers } }
}

/** What the operation makes or works on; null for one that is about no payment. */
function presentResource({ paymentId, refundId }: IdempotencyKey): Record<string, unknown> | null {
  if (refundId !== null) return { object: 'refund', id: showRefundId(refundId) }
  return paymentId === null ? null : { object: 'payment', id: showPaymentId(paymentId) }
}
