// Derives the idempotency keys of the tools from what is asked. The same call has the same key, also
// after a crash and in another process: no key is made for a call.
import { createHash } from 'node:crypto'

/** The key of one attempt to pay what the reference names. */
export const keyOfPayment = (reference: string, attempt: number): string =>
  deriveKey('pay', reference, String(attempt))

export const keyOfRefund = (reference: string, attempt: number): string =>
  deriveKey('refund', reference, String(attempt))

/** Without an amount, the whole hold is captured. */
export const keyOfCapture = (paymentId: string, amount: number | undefined): string =>
  deriveKey('capture', paymentId, String(amount ?? 'all'))

export const keyOfCancel = (paymentId: string): string => deriveKey('cancel', paymentId)

/** A reference can be as long as a key, so that it is hashed. */
function deriveKey(operation: string, ...parts: readonly string[]): string {
  const hash = createHash('sha256').update(JSON.stringify(parts)).digest('hex')
  return `mcp-${operation}-${hash}`
}
