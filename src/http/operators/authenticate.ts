// Authenticates operators by their key or their session in the console, and refuses what their role may not.
import { hash, timingSafeEqual } from 'node:crypto'
import type { Request } from 'express'
import { appendAdminAction } from '../../db/operators/admin-actions.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { authenticateSession, hasSessionCookie } from '../console/authenticate-session.ts'
import {
  headerLines,
  isRead,
  withinStoreTimeout,
  type ServiceParts,
  readBearer,
  type Operator,
  type OperatorKey,
} from '../endpoint.ts'
import { CHALLENGE, insufficientScope } from '../server/authenticate.ts'

/**
 * Returns the operator key that equals the text. It compares the hashes of all keys, so that the
 * response time reveals nothing about a key.
 */
function findOperatorKey({ settings }: ServiceParts, text: string): OperatorKey | undefined {
  const textHash = hashKey(text)
  const equal = settings.ADMIN_API_KEY?.filter(({ key }) => timingSafeEqual(hashKey(key), textHash))
  return equal?.at(-1)
}

const hashKey = (key: string): Buffer => hash('sha256', key, 'buffer')

/**
 * Returns the operator who sends the request. A key takes precedence over a session.
 *
 * @throws ProblemError those of `authenticateOperatorKey`, and the same for no key; for a session,
 *   those of `authenticateSession`.
 */
export async function authenticateOperator(
  parts: ServiceParts,
  request: Request,
): Promise<Operator> {
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
  parts: ServiceParts,
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

/** The action of a refusal in the audit trail. The endpoint, which knows a better name, never ran. */
const REFUSAL = 'operator.refuse'

/**
 * Lets an operator with the role `viewer` read only. Records the refusal in the audit trail, with
 * the route instead of the path: a client can put secrets in a path.
 *
 * @throws ProblemError operator-role-insufficient, before anything of the request is read.
 */
export async function authorizeOperator(
  parts: ServiceParts,
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
