// Puts an operation that is proved to have done nothing back to work, when its client retries.
import type { Store } from '../db/client.ts'
import { reopenIfFailed, type IdempotencyKey } from '../db/idempotency-keys.ts'
import { findPayment } from '../db/payments.ts'
import { operationNamed } from './engine.ts'

/** Returns whether this retry reopened it; of several at once, one does. */
export async function reopenOperation({ sql }: Store, key: IdempotencyKey): Promise<boolean> {
  return await sql.begin(async (tx) => {
    if (!(await reopenIfFailed(tx, key))) return false
    const payment = await findPayment(tx, key.tenantId, key.paymentId)
    if (payment === undefined) throw new Error(`operation ${key.id} has lost its payment`)
    await operationNamed(key.operation).standstills.reopened(tx, payment)
    return true
  })
}
