// Why an operation was not to be had on a payment.
import { findPayment } from '../../db/payments/payments.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import type { Payment } from '../../domain/payments/payment.ts'
import type { ApiParts } from '../endpoint.ts'

/** The problem invalid-state, which names the status that the payment is in now. */
export async function refuseState({ store }: ApiParts, payment: Payment): Promise<ProblemError> {
  return invalidState(await findPayment(store.sql, payment.tenantId, payment.id))
}

/** The same, for whoever has read the payment already. */
export function invalidState(now: Payment | undefined): ProblemError {
  return new ProblemError('invalid-state', { detail: `The payment is ${now?.status ?? 'gone'}.` })
}
