// Explains why a payment does not allow an operation.
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { hasExpired, type Payment } from '../../domain/payments/payment.ts'

/** Returns the problem invalid-state, which names the payment's current status. */
export function invalidState(now: Payment | undefined): ProblemError {
  const why = now !== undefined && hasExpired(now) ? ': its authorization has expired' : ''
  const detail = `The payment is ${now?.status ?? 'gone'}${why}.`
  return new ProblemError('invalid-state', { detail })
}
