// The tombstone of a deleted idempotency key: it keeps which resource the key created or changed.
import { paymentPath } from '../payments/payment.ts'
import { refundPath } from '../payments/refund.ts'

/** What remains of an earlier operation with the same key. */
export interface Tombstone {
  readonly paymentId: string | null
  readonly refundId: string | null
  /** The path of the resource of a local operation, if there is one. */
  readonly location: string | null
  readonly expiredAt: Date
}

/**
 * The path of the resource that the earlier operation created or changed; undefined without one.
 */
export function earlierResourcePath(tombstone: Tombstone): string | undefined {
  if (tombstone.refundId !== null) return refundPath(tombstone.refundId)
  if (tombstone.paymentId !== null) return paymentPath(tombstone.paymentId)
  return tombstone.location ?? undefined
}
