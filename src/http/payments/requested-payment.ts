// The payment that a path names, for every endpoint below /v1/payments/:id.
import type { Request } from 'express'
import { findPayment } from '../../db/payments/payments.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { parsePaymentId, type Payment } from '../../domain/payments/payment.ts'
import type { ApiParts } from '../endpoint.ts'

/**
 * @throws ProblemError resource-not-found, the same for an id that is malformed, that does not exist
 *   and that is another tenant's.
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
