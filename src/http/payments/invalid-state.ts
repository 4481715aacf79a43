// Explains why a payment does not allow an operation.
import { ProblemError } from '../../domain/problems/problem-error.ts'
import type { Payment } from '../../domain/payments/payment.ts'

/** Returns the problem invalid-state, which names the payment's current status. */
export function invalidState(now: Payment | undefined): ProblemError {
  return new ProblemError('invalid-state', { detail: `The payment is ${now?.status ?? 'gone'}.` })
}
