// Authenticates a request by the session of its cookie, and protects changes against forgery.
import type { Request } from 'express'
import { findConsoleSession, touchConsoleSession } from '../../db/operators/console-sessions.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { headerLines, isRead, withinStoreTimeout, type ApiParts } from '../endpoint.ts'
import type { OpenSession, Operator, OperatorKey } from '../operators/operator.ts'
import { CHALLENGE, insufficientScope } from '../server/authenticate.ts'
import { readSessionToken } from './session-cookie.ts'
import { csrfTokenOf, equalsSecret, hashSessionToken, proveKey } from './session-token.ts'

/** A session ends after this time, also when it is used. */
const MAX_SECONDS = 12 * 60 * 60

/**
 * Returns the session of the request. The request extends it, unless it has `X-Background: true`: a
 * page that only refreshes itself is not an operator who is there.
 *
 * @throws ProblemError session-ended, which is the same for a missing, a malformed and an unknown
 *   token, and for a session that has ended; csrf-token-invalid for a change.
 */
export async function authenticateSession(parts: ApiParts, request: Request): Promise<OpenSession> {
  const token = readSessionToken(request)
  const found = token === undefined ? undefined : await findSession(parts, token)
  if (found === undefined) throw new ProblemError('session-ended', { headers: CHALLENGE })
  const { session, isSeenLongAgo } = found
  if (!isRead(request)) requireCsrfToken(request, session)
  const isBackground = headerLines(request, 'x-background').join() === 'true'
  if (isSeenLongAgo && !isBackground) {
    await withinStoreTimeout(parts, touchConsoleSession(parts.store.sql, session.tokenHash))
  }
  return session
}

export function sessionLimits({ settings }: ApiParts) {
  return { idleSeconds: settings.CONSOLE_IDLE_SECONDS, maxSeconds: MAX_SECONDS }
}

/** Describes the session that an operator's key opens. */
export function openSession(token: string, operator: Operator, createdAt: Date): OpenSession {
  return {
    operator: { name: operator.name, role: operator.role },
    tokenHash: hashSessionToken(token),
    csrfToken: csrfTokenOf(token),
    expiresAt: new Date(createdAt.getTime() + MAX_SECONDS * 1_000),
  }
}

async function findSession(parts: ApiParts, token: string) {
  const { settings, store } = parts
  const tokenHash = hashSessionToken(token)
  const lookup = findConsoleSession(store.sql, tokenHash, sessionLimits(parts))
  const row = await withinStoreTimeout(parts, lookup)
  if (row === undefined) return undefined
  const proves = ({ name, key }: OperatorKey) =>
    name === row.operator && equalsSecret(proveKey(key, tokenHash), row.keyProof)
  const operator = settings.ADMIN_API_KEY?.find(proves)
  if (operator === undefined) return undefined
  const { isSeenLongAgo } = row
  return { session: openSession(token, operator, row.createdAt), isSeenLongAgo }
}

/** @throws ProblemError csrf-token-invalid. */
function requireCsrfToken(request: Request, { csrfToken }: OpenSession): void {
  const sent = headerLines(request, 'x-csrf-token').join()
  if (equalsSecret(Buffer.from(sent), Buffer.from(csrfToken))) return
  throw new ProblemError('csrf-token-invalid', { headers: insufficientScope() })
}
