// POST, GET and DELETE /console/session: the session of an operator in a browser, its cookie and its token.
import { consoleOnly, withSession } from '../server/route.ts'
import { z } from 'zod'
import type { Endpoints } from '../contracts/contract.ts'
import {
  deleteConsoleSession,
  deleteEndedConsoleSessions,
  insertConsoleSession,
} from '../../db/operators/console-sessions.ts'
import { randomBytes } from 'node:crypto'
import type { Request } from 'express'
import {
  withinStoreTimeout,
  type ApiParts,
  type OpenEndpoint,
  type SessionEndpoint,
  type OpenSession,
  type OperatorKey,
} from '../endpoint.ts'
import { timeField } from '../contracts/fields.ts'
import {
  authenticateOperatorKey,
  sessionLimits,
  hashSessionToken,
  proveKey,
  nameFor,
  openSession,
} from '../operators/authenticate.ts'
import { appendAdminAction } from '../../db/operators/admin-actions.ts'
import { inService } from '../../db/connection/transaction.ts'
import { readJson } from '../keyed/keyed-request.ts'
import { validateBody } from '../requests/validate-body.ts'
import { showJson, type Answer } from '../responses/answer.ts'

const TOKEN_BYTES = 32

function makeSessionToken(): string {
  return randomBytes(TOKEN_BYTES).toString('base64url')
}

/** Makes the browser keep the token until it is closed. */
function setSessionCookie(request: Request, token: string): Record<string, string> {
  return { 'set-cookie': `${nameFor(request)}=${token}; ${attributesFor(request)}` }
}

/** Makes the browser forget the token. */
function clearSessionCookie(request: Request): Record<string, string> {
  return { 'set-cookie': `${nameFor(request)}=; ${attributesFor(request)}; Max-Age=0` }
}

function attributesFor({ secure }: Request): string {
  return `Path=/; HttpOnly; SameSite=Strict${secure ? '; Secure' : ''}`
}

const sessionSchema = z
  .object({
    object: z.literal('console_session'),
    operator: z.string().meta({ description: 'The name of the operator.' }),
    role: z
      .enum(['operator', 'viewer'])
      .meta({ description: 'A `viewer` may read everything and change nothing.' }),
    csrf_token: z.string().meta({
      description:
        'The value of the header `X-CSRF-Token` in every request that changes something.',
    }),
    dual_control: z.boolean().meta({
      description: 'Whether every resolution of an unknown outcome needs two operators.',
    }),
    idle_seconds: z.int().meta({
      description: 'The session ends after so many seconds without a request.',
    }),
    expires_at: timeField('When the session ends in any case.'),
  })
  .meta({ id: 'ConsoleSession', description: 'The session of an operator in the console.' })

const logInBody = z.strictObject({
  key: z.string().min(1).max(500).describe('The operator key of the person who logs in.'),
})

/** Refused keys are counted for the address like invalid API keys, and recorded nowhere. */
const logIn: OpenEndpoint = async (parts, request) => {
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

const getSession: SessionEndpoint = async (parts, _request, session) => showSession(parts, session)

const logOut: SessionEndpoint = async (parts, request, session) => {
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

export const sessionEndpoints: Endpoints = {
  'POST /console/session': {
    serve: consoleOnly(logIn),
    operationId: 'logIn',
    tag: 'Console',
    summary: 'Log in',
    description:
      'Exchanges an operator key for the cookie of a session. The cookie authenticates requests to `/admin`, too. The session ends when it is idle for too long, after twelve hours, and when the key is removed from the settings.',
    body: {
      schema: logInBody.meta({ id: 'LogIn' }),
      example: { key: 'adm_...' },
    },
    answers: {
      200: { description: 'The session.', schema: sessionSchema, headers: ['Set-Cookie'] },
    },
    problems: ['operator-key-invalid', 'too-many-invalid-keys', 'store-unavailable'],
  },
  'GET /console/session': {
    serve: withSession(getSession),
    operationId: 'getSession',
    tag: 'Console',
    summary: 'Retrieve the session',
    answers: { 200: { description: 'The session.', schema: sessionSchema } },
  },
  'DELETE /console/session': {
    serve: withSession(logOut, true),
    operationId: 'logOut',
    tag: 'Console',
    summary: 'Log out',
    description: 'Ends the session, in every process.',
    answers: { 204: { description: 'The session has ended.', headers: ['Set-Cookie'] } },
  },
}
