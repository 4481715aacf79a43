// POST, GET and DELETE /console/session: the session of an operator in a browser, its cookie and its token.
import {
  consoleOnly,
  withSession,
  withinStoreTimeout,
  type ServiceParts,
  type OpenEndpoint,
  type SessionEndpoint,
  type OpenSession,
  type OperatorKey,
} from '../endpoint.ts'
import { z } from 'zod'
import type { Endpoints } from '../contracts/contract.ts'
import type { Sql } from '../../db/connection/client.ts'
import { SESSION_ENDED_CHANNEL } from '../../db/connection/notifications.ts'
import { randomBytes } from 'node:crypto'
import type { Request } from 'express'
import { timeField } from '../contracts/fields.ts'
import { authenticateOperatorKey } from '../operators/authenticate.ts'
import { appendAdminAction } from '../../db/operators/admin-actions.ts'
import { inService } from '../../db/connection/transaction.ts'
import { readJson } from '../keyed/keyed-request.ts'
import { validateBody } from '../requests/validate-body.ts'
import { showJson, type Answer } from '../responses/answer.ts'
import {
  hashSessionToken,
  hasEnded,
  nameFor,
  openSession,
  proveKey,
} from './authenticate-session.ts'

const TOKEN_BYTES = 32

/** Makes the browser keep the token until it is closed, or forget it at once. */
function setSessionCookie(request: Request, token: string | undefined): Record<string, string> {
  const secure = request.secure ? '; Secure' : ''
  const end = token === undefined ? '; Max-Age=0' : ''
  const attributes = `Path=/; HttpOnly; SameSite=Strict${secure}${end}`
  return { 'set-cookie': `${nameFor(request)}=${token ?? ''}; ${attributes}` }
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
  const token = randomBytes(TOKEN_BYTES).toString('base64url')
  const { CONSOLE_IDLE_SECONDS } = parts.settings
  const recorded = recordLogIn(
    parts.store.sql,
    CONSOLE_IDLE_SECONDS,
    hashSessionToken(token),
    operatorKey,
  )
  const createdAt = await withinStoreTimeout(parts, recorded)
  const answer = showSession(parts, openSession(token, operatorKey, createdAt))
  return { ...answer, headers: { ...answer.headers, ...setSessionCookie(request, token) } }
}

/** Stores a session. Returns when it began. Each log-in also deletes the sessions that have ended. */
export async function recordLogIn(
  sql: Sql,
  idleSeconds: number,
  tokenHash: Buffer,
  { name, role, key }: OperatorKey,
): Promise<Date> {
  return await inService(sql, async (tx) => {
    await tx`delete from console_sessions where ${hasEnded(tx, idleSeconds)}`
    const details = { result: 'logged in', role }
    await appendAdminAction(tx, { actor: name, action: 'console.login', subject: null, details })
    const [row] = await tx<[{ created_at: string }]>`
      insert into console_sessions (token_hash, operator, key_proof)
      values (${tokenHash}, ${name}, ${proveKey(key, tokenHash)})
      returning created_at
    `
    return new Date(row.created_at)
  })
}

const getSession: SessionEndpoint = async (parts, _request, session) => showSession(parts, session)

const logOut: SessionEndpoint = async (parts, request, session) => {
  await withinStoreTimeout(parts, recordLogOut(parts.store.sql, session))
  return { status: 204, headers: setSessionCookie(request, undefined), body: '' }
}

/** Deletes a session. Its end is announced when the transaction commits. */
export async function recordLogOut(
  sql: Sql,
  { operator, tokenHash }: Pick<OpenSession, 'operator' | 'tokenHash'>,
): Promise<void> {
  await inService(sql, async (tx) => {
    const { count } = await tx`delete from console_sessions where token_hash = ${tokenHash}`
    if (count > 0) {
      await tx`select pg_notify(${SESSION_ENDED_CHANNEL}, ${tokenHash.toString('hex')})`
    }
    const details = { result: count > 0 ? 'logged out' : 'logged out before' }
    const entry = { actor: operator.name, action: 'console.logout', subject: null, details }
    await appendAdminAction(tx, entry)
  })
}

function showSession({ settings }: ServiceParts, session: OpenSession): Answer {
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
