// Finds the payment that a path below /v1/payments/:id names.
import type { Request } from 'express'
import { findPayment } from '../../db/payments/payments.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { parsePaymentId, type Payment } from '../../domain/payments/payment.ts'
import type { ApiParts } from '../endpoint.ts'

/**
 * @throws ProblemError resource-not-found, which is the same for a malformed id, an unknown id and
 *   the id of another tenant's payment.
 */
export async function findRequestedPayment(
  { store }: ApiParts,
  request: Request,
  tenantId: string,
): Promise<Payment> {
  const id = parsePaymentId(String(request.params['id']))
  const payment = id === undefined ? undefined : await findPayment(store.sql, tenantId, id)
  if (payment === undefined) throw new ProblemError('resource-not-found')
  return payment
}
