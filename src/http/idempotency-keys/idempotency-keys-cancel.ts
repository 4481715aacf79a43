// POST /v1/idempotency-keys/:key/cancel: ends what was asked for with a key, whose client lost the
// answer and wants out. The key in the path makes it safe to repeat, so it needs no key of its own.
import { hash, randomUUIDv7 } from 'node:crypto'
import { z } from 'zod'
import { requestCancellation } from '../../db/idempotency/cancellations.ts'
import type { IdempotencyKey } from '../../db/idempotency/idempotency-key-rows.ts'
import { findIdempotencyKey } from '../../db/idempotency/idempotency-keys.ts'
import { inTenant } from '../../db/connection/transaction.ts'
import { CANCEL_KEY } from '../../domain/idempotency/cancellation.ts'
import { longestRetention, retentionOf } from '../../domain/idempotency/retention.ts'
import { problemResponse } from '../../domain/operations/stored-response.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { cancelOperation } from '../../engine/cancel-operation.ts'
import { withinStoreTimeout, type ApiParts, type TenantEndpoint } from '../endpoint.ts'
import { readNamedRequest } from '../keyed/keyed-intent.ts'
import { doWithinLimits } from '../keyed/keyed-locally.ts'
import { withTombstone } from '../keyed/tombstone-headers.ts'
import { validateBody } from '../requests/validate-body.ts'
import { retryAfter, type Answer } from '../responses/answer.ts'
import { readKeyInPath, showKey } from './idempotency-keys-get.ts'

/** Nothing may be asked for that would be ignored. */
export const cancelKeyBody = z.strictObject({}).meta({ id: 'CancelIdempotencyKey' })

export const cancelIdempotencyKey: TenantEndpoint = async (parts, request, tenantId) => {
  const read = await readNamedRequest(
    { key: readKeyInPath(request), firstSent: undefined },
    { mayOmit: true },
    parts,
    request,
  )
  validateBody(cancelKeyBody, read.body)
  const found = await reserveOrFind(parts, tenantId, read.key)
  const now = found.cancellation === null ? await cancel(parts, found) : found
  return answerTo(now)
}

/** A key that was never used is used up now: a request that arrives later executes nothing. */
async function reserveOrFind(
  parts: ApiParts,
  tenantId: string,
  key: string,
): Promise<IdempotencyKey> {
  const reservation = {
    tenantId,
    id: randomUUIDv7(),
    key,
    fingerprint: hash('sha256', key, 'buffer'),
    operation: CANCEL_KEY,
    // Which operation the request would begin is unknown, and it may arrive late.
    retentionSeconds: longestRetention(parts.settings),
    // What an expired key did cannot be found out from its tombstone.
    expiredKeys: 'gone',
  } as const
  const response = problemResponse(parts.settings.IDEMPOTENCY_FLAVOR, 'operation-canceled')
  return await doWithinLimits(parts, reservation, () => Promise.resolve(response)).catch(
    async (error: unknown) => {
      throw await withTombstone(parts, reservation, error)
    },
  )
}

async function cancel(parts: ApiParts, key: IdempotencyKey): Promise<IdempotencyKey> {
  if (key.operation === CANCEL_KEY) return key
  const { tenantId, id, paymentId, status } = key
  if (paymentId === null) throw new ProblemError('operation-not-cancelable')
  if (status !== 'completed' && (await withinStoreTimeout(parts, cancelOperation(parts, key)))) {
    return await readAgain(parts, key)
  }
  const operation = { tenantId, id, paymentId }
  const retentionSeconds = retentionOf(parts.settings, key.operation)
  const isRequested = await withinStoreTimeout(
    parts,
    inTenant(parts.store.sql, tenantId, (tx) =>
      requestCancellation(tx, operation, { provider: parts.providerName, retentionSeconds }),
    ),
  )
  if (isRequested) parts.wakeEventWorkers()
  const now = await readAgain(parts, key)
  // Of several requests one is first, and the others find what it wrote.
  if (!isRequested && now.cancellation === null) throw new ProblemError('operation-not-cancelable')
  return now
}

async function readAgain(parts: ApiParts, key: IdempotencyKey): Promise<IdempotencyKey> {
  const reading = findIdempotencyKey(parts.store.sql, key.tenantId, key.key)
  return (await withinStoreTimeout(parts, reading)) ?? key
}

function answerTo(key: IdempotencyKey): Answer {
  const answer = showKey(key)
  if (key.cancellation !== 'in_progress') return answer
  const location = `/v1/idempotency-keys/${encodeURIComponent(key.key)}`
  return { ...answer, status: 202, headers: { ...answer.headers, ...retryAfter(), location } }
}
