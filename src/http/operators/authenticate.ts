// Authenticates operators by their key or their session in the console, and refuses what their role may not.
import {
  type SessionLimits,
  findConsoleSession,
  touchConsoleSession,
} from '../../db/operators/console-sessions.ts'
import type { Config } from '../../config.ts'
import { createHmac, hash, timingSafeEqual } from 'node:crypto'
import type { Request } from 'express'
import {
  headerLines,
  isRead,
  withinStoreTimeout,
  type ApiParts,
  readBearer,
  type OpenSession,
  type Operator,
  type OperatorKey,
} from '../endpoint.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { CHALLENGE, insufficientScope } from '../server/authenticate.ts'
import { EVENT_STREAM } from '../console/live.ts'
import { appendAdminAction } from '../../db/operators/admin-actions.ts'

/** A session ends after twelve hours, also when it is used. */
const SESSION_MAX_SECONDS = 12 * 60 * 60

export function sessionLimits({
  CONSOLE_IDLE_SECONDS,
}: Pick<Config, 'CONSOLE_IDLE_SECONDS'>): SessionLimits {
  return { idleSeconds: CONSOLE_IDLE_SECONDS, maxSeconds: SESSION_MAX_SECONDS }
}

export function hashSessionToken(token: string): Buffer {
  return hash('sha256', token, 'buffer')
}

/**
 * Proves that the operator's key opened the session. Who can write to the database alone can make no
 * session, and a session ends when its key is removed from the settings.
 */
export function proveKey(operatorKey: string, tokenHash: Buffer): Buffer {
  return createHmac('sha256', operatorKey).update(tokenHash).digest()
}

/**
 * The token with which the page proves that a change is its own: another site can send the cookie,
 * but cannot read this. It is the same for the whole session, in every process.
 */
function csrfTokenOf(token: string): string {
  return createHmac('sha256', token).update('csrf').digest('base64url')
}

/** Compares in a time that says nothing about where the texts differ. */
function equalsSecret(one: Buffer, other: Buffer): boolean {
  return one.length === other.length && timingSafeEqual(one, other)
}

const NAME = 'atomic_console'

/** A browser accepts a cookie with this prefix only by https, and only for this one host. */
const PREFIX = '__Host-'

const TOKEN = /^[A-Za-z0-9_-]{43}$/

/** Whether the request has a cookie of the console, valid or not. */
function hasSessionCookie(request: Request): boolean {
  return cookieValues(request).length > 0
}

/** Returns the token of the request; undefined when the cookie is repeated or has another form. */
function readSessionToken(request: Request): string | undefined {
  const [token = '', ...others] = cookieValues(request)
  return others.length === 0 && TOKEN.test(token) ? token : undefined
}

function cookieValues(request: Request): string[] {
  const beginning = `${nameFor(request)}=`
  return headerLines(request, 'cookie')
    .flatMap((line) => line.split(';'))
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(beginning))
    .map((pair) => pair.slice(beginning.length))
}

export function nameFor({ secure }: Request): string {
  return secure ? `${PREFIX}${NAME}` : NAME
}

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

/**
 * Returns the operator key that equals the text. It compares the hashes of all keys, so that the
 * response time reveals nothing about a key.
 */
function findOperatorKey({ settings }: ApiParts, text: string): OperatorKey | undefined {
  const textHash = hashKey(text)
  let found: OperatorKey | undefined
  for (const operatorKey of settings.ADMIN_API_KEY ?? []) {
    if (timingSafeEqual(hashKey(operatorKey.key), textHash)) found = operatorKey
  }
  return found
}

function hashKey(key: string): Buffer {
  return hash('sha256', key, 'buffer')
}

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
