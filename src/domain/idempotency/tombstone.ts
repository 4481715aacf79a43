// What an idempotency key had done before it expired and was forgotten, as its tombstone keeps it.
import { paymentPath } from '../payments/payment.ts'
import { refundPath } from '../payments/refund.ts'

/** An earlier operation of the same key. */
export interface Tombstone {
  readonly paymentId: string | null
  readonly refundId: string | null
  /** Where the resource of a local operation is, if it left one. */
  readonly location: string | null
  readonly expiredAt: Date
}

/** The path of what the earlier operation made or worked on; undefined when it left nothing. */
export function earlierResourcePath(use: Tombstone): string | undefined {
  if (use.refundId !== null) return refundPath(use.refundId)
  if (use.paymentId !== null) return paymentPath(use.paymentId)
  return use.location ?? undefined
}
