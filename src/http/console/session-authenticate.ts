// Authenticates a request by the session of its cookie, and protects changes against forgery.
import type { Request } from 'express'
import { findConsoleSession, touchConsoleSession } from '../../db/operators/console-sessions.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { headerLines, isRead, withinStoreTimeout, type ApiParts } from '../endpoint.ts'
import type { OpenSession, Operator, OperatorKey } from '../operators/operator.ts'
import { CHALLENGE, insufficientScope } from '../server/authenticate.ts'
import { EVENT_STREAM } from './live-events.ts'
import { readSessionToken } from './session-cookie.ts'
import { SESSION_MAX_SECONDS, sessionLimits } from './session-limits.ts'
import { csrfTokenOf, equalsSecret, hashSessionToken, proveKey } from './session-token.ts'

/**
 * Returns the session of the request. The request extends it, unless the page made it by itself.
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
  if (isSeenLongAgo && !isBackground(request)) {
    await withinStoreTimeout(parts, touchConsoleSession(parts.store.sql, session.tokenHash))
  }
  return session
}

/** Describes the session that an operator's key opens. */
export function openSession(token: string, operator: Operator, createdAt: Date): OpenSession {
  return {
    operator: { name: operator.name, role: operator.role },
    tokenHash: hashSessionToken(token),
    csrfToken: csrfTokenOf(token),
    expiresAt: new Date(createdAt.getTime() + SESSION_MAX_SECONDS * 1_000),
  }
}

async function findSession(parts: ApiParts, token: string) {
  const { settings, store } = parts
  const tokenHash = hashSessionToken(token)
  const lookup = findConsoleSession(store.sql, tokenHash, sessionLimits(settings))
  const row = await withinStoreTimeout(parts, lookup)
  if (row === undefined) return undefined
  const proves = ({ name, key }: OperatorKey) =>
    name === row.operator && equalsSecret(proveKey(key, tokenHash), row.keyProof)
  const operator = settings.ADMIN_API_KEY?.find(proves)
  if (operator === undefined) return undefined
  const { isSeenLongAgo } = row
  return { session: openSession(token, operator, row.createdAt), isSeenLongAgo }
}

/**
 * Whether a page made the request without its operator, to refresh itself. The stream of events
 * counts, too: a browser cannot add a header to it.
 */
function isBackground(request: Request): boolean {
  const asksForEvents = headerLines(request, 'accept').join() === EVENT_STREAM
  return asksForEvents || headerLines(request, 'x-background').join() === 'true'
}

/** @throws ProblemError csrf-token-invalid. */
function requireCsrfToken(request: Request, { csrfToken }: OpenSession): void {
  const sent = headerLines(request, 'x-csrf-token').join()
  if (equalsSecret(Buffer.from(sent), Buffer.from(csrfToken))) return
  throw new ProblemError('csrf-token-invalid', { headers: insufficientScope() })
}
