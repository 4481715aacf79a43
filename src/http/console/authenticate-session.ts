// The session of an operator in a browser. It ends when it is idle for too long, when it is too old, when it
// is deleted, and when its key is removed from the settings.
import { createHmac, hash, timingSafeEqual } from 'node:crypto'
import type { Request } from 'express'
import type { Fragment, Sql, Transaction } from '../../db/connection/client.ts'
import { objectsOf } from '../../db/connection/rows.ts'
import type { consoleSessions } from '../../db/schema/service.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import {
  headerLines,
  isRead,
  withinStoreTimeout,
  type ServiceParts,
  type OpenSession,
  type Operator,
} from '../endpoint.ts'
import { CHALLENGE, insufficientScope } from '../server/authenticate.ts'

/** The media type, which a browser asks for when it waits for events. */
export const EVENT_STREAM = 'text/event-stream'

/** A session ends after twelve hours, also when it is used. */
const SESSION_MAX_SECONDS = 12 * 60 * 60

/** Requests within this time are not written, so that a page with many requests writes once. */
const SEEN_SECONDS = 5

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
export function hasSessionCookie(request: Request): boolean {
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
export async function authenticateSession(
  parts: ServiceParts,
  request: Request,
): Promise<OpenSession> {
  const { settings, store } = parts
  const token = readSessionToken(request)
  if (token === undefined) refuse()
  const tokenHash = hashSessionToken(token)
  const lookup = findConsoleSession(store.sql, tokenHash, settings.CONSOLE_IDLE_SECONDS)
  const found = await withinStoreTimeout(parts, lookup)
  const operator = settings.ADMIN_API_KEY?.find(
    ({ name, key }) =>
      name === found?.operator && equalsSecret(proveKey(key, tokenHash), found.keyProof),
  )
  if (found === undefined || operator === undefined) refuse()
  const session = openSession(token, operator, found.createdAt)
  if (!isRead(request)) requireCsrfToken(request, session)
  if (found.isSeenLongAgo && !isBackground(request)) {
    await withinStoreTimeout(parts, touchSession(store.sql, tokenHash))
  }
  return session
}

function refuse(): never {
  throw new ProblemError('session-ended', { headers: CHALLENGE })
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

type ConsoleSession = Pick<
  typeof consoleSessions.$inferSelect,
  'operator' | 'keyProof' | 'createdAt'
> & {
  readonly isSeenLongAgo: boolean
}

/** Finds a session that has not ended. */
export async function findConsoleSession(
  sql: Sql,
  tokenHash: Buffer,
  idleSeconds: number,
): Promise<ConsoleSession | undefined> {
  const found = await sql`
    select operator, key_proof, created_at, ${isSeenLongAgo(sql)} as is_seen_long_ago
    from console_sessions
    where token_hash = ${tokenHash} and not ${hasEnded(sql, idleSeconds)}
  `
  return objectsOf<ConsoleSession>(found)[0]
}

/** Records that the operator is there, unless that was recorded a moment ago. */
export async function touchSession(sql: Sql, tokenHash: Buffer): Promise<void> {
  await sql`
    update console_sessions set seen_at = now()
    where token_hash = ${tokenHash} and ${isSeenLongAgo(sql)}
  `
}

/** Whether a session has ended by time. */
export const hasEnded = (sql: Sql | Transaction, idleSeconds: number): Fragment => sql`(
  seen_at <= now() - ${idleSeconds} * interval '1 second'
  or created_at <= now() - ${SESSION_MAX_SECONDS} * interval '1 second'
)`

const isSeenLongAgo = (sql: Sql): Fragment =>
  sql`seen_at < now() - ${SEEN_SECONDS} * interval '1 second'`

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
