// GET /v1/idempotency-keys/:key
import { findIdempotencyKey } from '../db/idempotency-keys.ts'
import { ProblemError } from '../domain/errors.ts'
import { showPaymentId } from '../domain/payment.ts'
import { showJson } from './answer.ts'
import type { TenantEndpoint } from './endpoint.ts'

export const getIdempotencyKey: TenantEndpoint = async ({ store }, request, tenantId) => {
  const key = await findIdempotencyKey(store.sql, tenantId, String(request.params['key']))
  if (key === undefined) throw new ProblemError('resource-not-found')
  return showJson({
    object: 'idempotency_key',
    key: key.key,
    operation: key.operation,
    status: key.status,
    recovery_point: key.recoveryPoint,
    attempts: key.attempts,
    resource: { object: 'payment', id: showPaymentId(key.paymentId) },
    created_at: key.createdAt.toISOString(),
    expires_at: key.expiresAt.toISOString(),
  })
}
