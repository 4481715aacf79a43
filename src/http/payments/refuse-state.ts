// Explains why a payment does not allow an operation.
import { findPayment } from '../../db/payments/payments.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import type { Payment } from '../../domain/payments/payment.ts'
import type { ApiParts } from '../endpoint.ts'

/** Reads the payment and returns the problem invalid-state, which names its current status. */
export async function refuseState({ store }: ApiParts, payment: Payment): Promise<ProblemError> {
  return invalidState(await findPayment(store.sql, payment.tenantId, payment.id))
}

/** Returns the problem invalid-state for a payment that was already read. */
export function invalidState(now: Payment | undefined): ProblemError {
  return new ProblemError('invalid-state', { detail: `The payment is ${now?.status ?? 'gone'}.` })
}
