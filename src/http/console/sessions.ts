// POST, GET and DELETE /console/session: log an operator in, show the session, and log out.
import { z } from 'zod'
import { appendAdminAction } from '../../db/operators/admin-actions.ts'
import {
  deleteConsoleSession,
  deleteEndedConsoleSessions,
  insertConsoleSession,
} from '../../db/operators/console-sessions.ts'
import { inService } from '../../db/connection/transaction.ts'
import {
  withinStoreTimeout,
  type ApiParts,
  type OpenEndpoint,
  type SessionEndpoint,
} from '../endpoint.ts'
import { readJson } from '../keyed/keyed-intent.ts'
import { authenticateOperatorKey } from '../operators/operators-authenticate.ts'
import type { OpenSession, OperatorKey } from '../operators/operator.ts'
import { validateBody } from '../requests/validate-body.ts'
import { showJson, type Answer } from '../responses/answer.ts'
import { openSession } from './session-authenticate.ts'
import { clearSessionCookie, setSessionCookie } from './session-cookie.ts'
import { sessionLimits } from './session-limits.ts'
import { hashSessionToken, makeSessionToken, proveKey } from './session-token.ts'

export const logInBody = z.strictObject({
  key: z.string().min(1).max(500).describe('The operator key of the person who logs in.'),
})

/** Refused keys are counted for the address like invalid API keys, and recorded nowhere. */
export const logIn: OpenEndpoint = async (parts, request) => {
  const { key: text } = validateBody(logInBody, await readJson(parts, request, false))
  const operatorKey = authenticateOperatorKey(parts, request, text)
  const token = makeSessionToken()
  const createdAt = await withinStoreTimeout(parts, recordLogIn(parts, token, operatorKey))
  const answer = showSession(parts, openSession(token, operatorKey, createdAt))
  return { ...answer, headers: { ...answer.headers, ...setSessionCookie(request, token) } }
}

/** Each log-in also deletes the sessions that have ended. */
async function recordLogIn(
  parts: ApiParts,
  token: string,
  { name, role, key }: OperatorKey,
): Promise<Date> {
  const tokenHash = hashSessionToken(token)
  return await inService(parts.store.sql, async (tx) => {
    await deleteEndedConsoleSessions(tx, sessionLimits(parts.settings))
    const details = { result: 'logged in', role }
    await appendAdminAction(tx, { actor: name, action: 'console.login', subject: null, details })
    const keyProof = proveKey(key, tokenHash)
    return await insertConsoleSession(tx, { tokenHash, operator: name, keyProof })
  })
}

export const getSession: SessionEndpoint = async (parts, _request, session) =>
  showSession(parts, session)

export const logOut: SessionEndpoint = async (parts, request, session) => {
  await withinStoreTimeout(parts, recordLogOut(parts, session))
  return { status: 204, headers: clearSessionCookie(request), body: '' }
}

async function recordLogOut(
  { store }: ApiParts,
  { operator, tokenHash }: OpenSession,
): Promise<void> {
  await inService(store.sql, async (tx) => {
    const deleted = await deleteConsoleSession(tx, tokenHash)
    const details = { result: deleted ? 'logged out' : 'logged out before' }
    const entry = { actor: operator.name, action: 'console.logout', subject: null, details }
    await appendAdminAction(tx, entry)
  })
}

function showSession({ settings }: ApiParts, session: OpenSession): Answer {
  const { operator, csrfToken, expiresAt } = session
  return showJson({
    object: 'console_session',
    operator: operator.name,
    role: operator.role,
    csrf_token: csrfToken,
    dual_control: settings.ADMIN_DUAL_CONTROL,
    idle_seconds: settings.CONSOLE_IDLE_SECONDS,
    expires_at: expiresAt,
  })
}
