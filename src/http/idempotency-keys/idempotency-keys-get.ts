// GET /v1/idempotency-keys/:key: returns the operation that a key was used for.
import type { Request } from 'express'
import { findIdempotencyKey } from '../../db/idempotency/idempotency-keys.ts'
import type { IdempotencyKey } from '../../db/idempotency/idempotency-key-rows.ts'
import { findTombstone } from '../../db/idempotency/key-tombstones.ts'
import { CANCEL_KEY, type CancellationStatus } from '../../domain/idempotency/cancellation.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { showPaymentId } from '../../domain/payments/payment.ts'
import { showRefundId } from '../../domain/payments/refund.ts'
import { showJson, type Answer } from '../responses/answer.ts'
import { tombstoneHeaders, keyExpired } from '../keyed/tombstone-headers.ts'
import type { TenantEndpoint } from '../endpoint.ts'

/** A key in quotes may have these characters: RFC 9651 section 3.3.3. */
const KEY = /^[\x20-\x7E]{1,255}$/

export const getIdempotencyKey: TenantEndpoint = async ({ store }, request, tenantId) => {
  const text = readKeyInPath(request)
  const key = await findIdempotencyKey(store.sql, tenantId, text)
  if (key !== undefined) return showKey(key)
  const earlier = await findTombstone(store.sql, tenantId, text)
  throw earlier === undefined ? new ProblemError('resource-not-found') : keyExpired(earlier)
}

/** @throws ProblemError resource-not-found when no request can have had this key. */
export function readKeyInPath(request: Request): string {
  const text = String(request.params['key'])
  if (!KEY.test(text)) throw new ProblemError('resource-not-found')
  return text
}

export function showKey(key: IdempotencyKey): Answer {
  const answer = showJson({
    object: 'idempotency_key',
    key: key.key,
    operation: key.operation,
    status: key.status,
    recovery_point: key.recoveryPoint,
    attempts: key.attempts,
    resource: presentResource(key),
    cancellation: cancellationOf(key),
    created_at: key.createdAt.toISOString(),
    expires_at: key.expiresAt.toISOString(),
  })
  const headers = key.earlier === null ? {} : tombstoneHeaders(key.earlier)
  return { ...answer, headers: { ...answer.headers, ...headers } }
}

function cancellationOf({ operation, cancellation }: IdempotencyKey): CancellationStatus | null {
  return operation === CANCEL_KEY ? 'prevented' : cancellation
}

/** The resource that the operation creates or changes; null when it concerns no payment. */
function presentResource({ paymentId, refundId }: IdempotencyKey): Record<string, unknown> | null {
  if (refundId !== null) return { object: 'refund', id: showRefundId(refundId) }
  return paymentId === null ? null : { object: 'payment', id: showPaymentId(paymentId) }
}
