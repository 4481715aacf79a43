// GET /admin/payments/:id: returns a payment of any tenant with its life for operators.
import { findPaymentOverview } from '../../../db/operators/lists/payment-overviews.ts'
import { parsePaymentId } from '../../../domain/payments/payment.ts'
import { ProblemError } from '../../../domain/problems/problem-error.ts'
import { withinStoreTimeout, type AdminEndpoint } from '../../endpoint.ts'
import { showJson } from '../../responses/answer.ts'
import { readLife } from './payment-life.ts'
import { presentOverview } from './payments-list.ts'

export const getPaymentEndpoint: AdminEndpoint = async (parts, request) => {
  const id = parsePaymentId(String(request.params['id']))
  const lookup = id === undefined ? undefined : findPaymentOverview(parts.store.sql, id)
  const overview = lookup && (await withinStoreTimeout(parts, lookup))
  if (overview === undefined) throw new ProblemError('resource-not-found')
  const life = await withinStoreTimeout(parts, readLife(parts, overview.payment))
  return showJson({ ...presentOverview(overview), life })
}
