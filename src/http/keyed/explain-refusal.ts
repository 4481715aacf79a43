// Explains why an intent was refused, or why its operation cannot go on: the state of the resource, or
// another payment or refund with its reference.
import { DuplicateReferenceError, type IntentRefusedError } from '../../db/idempotency/intents.ts'
import type { IdempotencyKey } from '../../db/idempotency/idempotency-keys.ts'
import {
  findPayment,
  findUserOfReference,
  type ReferenceName,
  type StaleResourceError,
} from '../../db/payments/payments.ts'
import { findRefund } from '../../db/payments/refunds.ts'
import { paymentPath, showPaymentId, type Payment } from '../../domain/payments/payment.ts'
import { refundPath, showRefundId, type Refund } from '../../domain/payments/refund.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { withinStoreTimeout, type ApiParts } from '../endpoint.ts'
import type { KeyedIntent } from './keyed-intent.ts'

/**
 * Undefined when no payment or refund uses the reference any more, so that the request may succeed
 * now.
 */
export async function explainRefusedIntent(
  parts: ApiParts,
  { intent: { tenantId, refundId, details }, explainRefusal }: KeyedIntent,
  error: IntentRefusedError,
): Promise<ProblemError | undefined> {
  if (!(error instanceof DuplicateReferenceError)) {
    return await withinStoreTimeout(parts, explainRefusal())
  }
  const kind = refundId === null ? 'payment' : 'refund'
  return await explainDuplicate(parts, tenantId, kind, details?.reference ?? null)
}

/**
 * Explains why a failed operation cannot go on: its resource has changed, or lost its reference.
 * Undefined when its reference is free again, so that it may go on now.
 */
export async function explainStale(
  parts: ApiParts,
  { tenantId, paymentId, refundId }: IdempotencyKey,
  cause: StaleResourceError,
): Promise<ProblemError | undefined> {
  const { sql } = parts.store
  const kind = refundId === null ? 'payment' : 'refund'
  const id = refundId ?? paymentId ?? ''
  const search = kind === 'refund' ? findRefund(sql, tenantId, id) : findPayment(sql, tenantId, id)
  const stale = await withinStoreTimeout<Payment | Refund | undefined>(parts, search)
  const isUnchanged = stale?.status === 'failed' && stale.reference !== null
  if (!isUnchanged) return new ProblemError('invalid-state', { cause })
  return await explainDuplicate(parts, tenantId, kind, stale.reference)
}

async function explainDuplicate(
  parts: ApiParts,
  tenantId: string,
  kind: ReferenceName['kind'],
  reference: string | null,
): Promise<ProblemError | undefined> {
  if (reference === null) return undefined
  const search = findUserOfReference(parts.store.sql, { tenantId, kind, reference })
  const id = await withinStoreTimeout(parts, search)
  if (id === undefined) return undefined
  const [earlier, location] =
    kind === 'refund' ? [showRefundId(id), refundPath(id)] : [showPaymentId(id), paymentPath(id)]
  const detail = `The ${kind} ${earlier} has this reference.`
  return new ProblemError('duplicate-reference', { detail, extensions: { earlier, location } })
}
