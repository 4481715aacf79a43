// Authenticates an operator: by the operator key of the request or, in the console, by its session.
import type { Request } from 'express'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { authenticateSession } from '../console/session-authenticate.ts'
import { hasSessionCookie } from '../console/session-cookie.ts'
import { CHALLENGE, readBearer } from '../server/authenticate.ts'
import { headerLines, type ApiParts } from '../endpoint.ts'
import { findOperatorKey } from './operator-keys.ts'
import type { Operator } from './operator.ts'

/**
 * Returns the operator who sends the request. A key takes precedence over a session.
 *
 * @throws ProblemError operator-key-invalid, which is the same for a missing, a malformed and an
 *   unknown key; for a session, those of `authenticateSession`.
 */
export async function authenticateOperator(parts: ApiParts, request: Request): Promise<Operator> {
  const lines = headerLines(request, 'authorization')
  const isInConsole = parts.settings.CONSOLE === 'on' && hasSessionCookie(request)
  if (lines.length === 0 && isInConsole) return (await authenticateSession(parts, request)).operator
  const found = findOperatorKey(parts, readBearer(lines) ?? '')
  if (found !== undefined) return found
  throw new ProblemError('operator-key-invalid', { headers: CHALLENGE })
}
