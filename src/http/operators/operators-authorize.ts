// Refuses changes of operators whose role allows them to read only.
import type { Request } from 'express'
import { appendAdminAction } from '../../db/operators/admin-actions.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { isRead, withinStoreTimeout, type ApiParts } from '../endpoint.ts'
import { insufficientScope } from '../server/authenticate.ts'
import type { Operator } from './operator.ts'

/** The action of a refusal in the audit trail. The endpoint, which knows a better name, never ran. */
const REFUSAL = 'operator.refuse'

/**
 * Lets an operator with the role `viewer` read only. Records the refusal in the audit trail, with
 * the route instead of the path: a client can put secrets in a path.
 *
 * @throws ProblemError operator-role-insufficient, before anything of the request is read.
 */
export async function authorizeOperator(
  parts: ApiParts,
  request: Request,
  { name, role }: Operator,
): Promise<void> {
  if (role === 'operator' || isRead(request)) return
  const refused = 'operator-role-insufficient'
  const route = String(request.route?.path)
  const details = { refused, method: request.method, route }
  const refusal = { actor: name, action: REFUSAL, subject: null, details }
  await withinStoreTimeout(parts, appendAdminAction(parts.store.sql, refusal))
  throw new ProblemError(refused, { headers: insufficientScope() })
}
