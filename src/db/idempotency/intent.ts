// An operation that a client requests, and its row in the intent statement.
import type { ValidatedFingerprint } from '../../domain/idempotency/fingerprint.ts'
import type { OperationRef } from '../../domain/operations/operation.ts'
import { shownKey } from '../events/event-records.ts'
import type { ExpiredKeys } from './key-tombstones.ts'

/** An operation that a client requests. */
export interface Intent extends OperationRef {
  readonly key: string
  /** When the client sent the request for the first time, if it says so. */
  readonly firstSent?: Date | undefined
  readonly fingerprint: Buffer
  /** Absent for an operation of our own, which has no body. */
  readonly validated?: ValidatedFingerprint
  readonly operation: string
  readonly paymentId: string
  readonly refundId: string | null
  /** Only for an operation on a dispute. */
  readonly disputeId?: string | null
  /** Parameters of the request that no resource stores. */
  readonly parameters: Readonly<Record<string, unknown>>
  readonly retentionSeconds: number
  /** What an expired key gets; `new` by default. */
  readonly expiredKeys?: ExpiredKeys
  /** What the part `resource` of the statement writes of this request. */
  readonly details?: IntentDetails | undefined
  /** The span of the request, when it is traced. */
  readonly traceparent?: string | undefined
}

/** A part `resource` that writes several intents takes the values of each from here. */
export type IntentDetails = Readonly<Record<string, unknown>> & {
  /** A customer that the tenant must own. */
  readonly customer?: string | null
  readonly provider?: string
  /** What one payment or refund of the tenant may have. */
  readonly reference?: string | null
}

/** The intent as the statement reads it. */
export function askedRow(intent: Intent): Record<string, unknown> {
  const { key, validated, disputeId = null, expiredKeys = 'new', details = {} } = intent
  return {
    tenant_id: intent.tenantId,
    id: intent.id,
    key,
    fingerprint: asBytea(intent.fingerprint),
    fingerprint_version: validated?.version ?? 1,
    validated_fingerprint: validated && asBytea(validated.fingerprint),
    operation: intent.operation,
    payment_id: intent.paymentId,
    refund_id: intent.refundId,
    dispute_id: disputeId,
    parameters: intent.parameters,
    retention_seconds: intent.retentionSeconds,
    expired_keys: expiredKeys,
    first_sent: intent.firstSent ?? null,
    details,
    shown_key: shownKey(key),
    traceparent: intent.traceparent ?? null,
  }
}

const asBytea = (bytes: Buffer): string => `\\x${bytes.toString('hex')}`
