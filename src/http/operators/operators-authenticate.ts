// Authenticates an operator: by the operator key of the request or, in the console, by its session.
import type { Request } from 'express'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { authenticateSession } from '../console/session-authenticate.ts'
import { hasSessionCookie } from '../console/session-cookie.ts'
import { CHALLENGE, readBearer } from '../server/authenticate.ts'
import { headerLines, type ApiParts } from '../endpoint.ts'
import { findOperatorKey } from './operator-keys.ts'
import type { Operator, OperatorKey } from './operator.ts'

/**
 * Returns the operator who sends the request. A key takes precedence over a session.
 *
 * @throws ProblemError those of `authenticateOperatorKey`, and the same for no key; for a session,
 *   those of `authenticateSession`.
 */
export async function authenticateOperator(parts: ApiParts, request: Request): Promise<Operator> {
  const lines = headerLines(request, 'authorization')
  const isInConsole = parts.settings.CONSOLE === 'on' && hasSessionCookie(request)
  if (lines.length === 0 && isInConsole) return (await authenticateSession(parts, request)).operator
  if (lines.length === 0) refuse()
  return authenticateOperatorKey(parts, request, readBearer(lines) ?? '')
}

/**
 * Returns the operator key. Invalid ones are counted for the address like invalid API keys, and
 * recorded nowhere.
 *
 * @throws ProblemError operator-key-invalid, which is the same for a malformed and an unknown key;
 *   too-many-invalid-keys, never for a valid key.
 */
export function authenticateOperatorKey(
  parts: ApiParts,
  request: Request,
  key: string,
): OperatorKey {
  // A guesser behind the same address must not lock operators out. The settings refuse a key that
  // could be guessed, and finding it costs no statement.
  const found = findOperatorKey(parts, key)
  if (found !== undefined) return found
  const { invalidKeys } = parts.limits
  const attempt = { address: request.ip ?? '', apiKey: key }
  const seconds = invalidKeys.secondsUntilNext(attempt)
  if (seconds !== undefined) {
    throw new ProblemError('too-many-invalid-keys', { headers: { 'retry-after': String(seconds) } })
  }
  invalidKeys.failed(attempt)
  refuse()
}

function refuse(): never {
  throw new ProblemError('operator-key-invalid', { headers: CHALLENGE })
}
