// The contract of every keyed POST: an intended operation is accepted once, whoever sends it how
// often, and every retry is told the truth about it.
// Follows https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/ (07).
import type { Request } from 'express'
import type { Fragment, Sql } from '../db/connection/client.ts'
import { StoreTimeoutError } from '../db/connection/deadline.ts'
import {
  findIdempotencyKey,
  IntentRefusedError,
  reserveIntentAndShow,
  type IdempotencyKey,
  type Reserved,
} from '../db/idempotency/idempotency-keys.ts'
import { KeyExpiredError } from '../db/idempotency/key-tombstones.ts'
import { StaleResourceError } from '../db/payments/payments.ts'
import { isStoreUnavailable } from '../db/connection/store-errors.ts'
import { ProblemError } from '../domain/problems/problem-error.ts'
import type { Operation } from '../engine/define-operation.ts'
import { reopenOperation } from '../engine/reopen-operation.ts'
import { currentTraceparent, withSpan, type SpanDescription } from '../tracing/spans.ts'
import { jsonType, retryAfter, type Answer } from './answer.ts'
import { earlierUseHeaders, tellOfEarlierUse } from './earlier-use.ts'
import { withinStoreTimeout, type ApiParts, type TenantEndpoint } from './endpoint.ts'
import { readIntent, type Intent, type Wish } from './keyed-intent.ts'
import { observeReservations } from './observe-reservations.ts'
import type { Preferences } from './prefer.ts'

/** What sets one keyed POST apart from the others. */
export interface KeyedRoute<Input> {
  readonly operation: Operation
  /** A request without a body is one with an empty object. */
  readonly mayOmitBody?: boolean
  /** Reads what is asked for. Throws ProblemError for what the operation does not take. */
  readonly read: (parts: ApiParts, asked: Asked) => Promise<Wish<Input>>
  /** The CTEs of the intent statement, the last named `resource`, that make or occupy the resource. */
  readonly resource: (sql: Sql, input: Input, parts: ApiParts) => Fragment
  /** Why the resource was not to be had, when it was not. */
  readonly explainRefusal: (parts: ApiParts, input: Input) => Promise<ProblemError>
  /** Where the resource is, and how it looks now, for an answer that is not final. */
  readonly showUnfinished: (
    parts: ApiParts,
    reserved: Reserved,
  ) => Promise<{ path: string; body: string }>
}

/** What a route reads of a request: the path, the tenant, and the parsed body. */
export interface Asked {
  readonly request: Request
  readonly tenantId: string
  readonly body: Readonly<Record<string, unknown>>
}

/** `owner`: this request set the operation going, or going again. `retry`: another one did. */
type Role = 'owner' | 'retry'

/** A lost acknowledgment is followed by the same statement, with the same ids, which is safe. */
const RESERVE_TRIES = 3

export function keyedEndpoint<Input>(route: KeyedRoute<Input>): TenantEndpoint {
  return observeReservations(async (parts, request, tenantId, tell) => {
    const intent = await readIntent(route, parts, request, tenantId)
    const reserved =
      (await findSeen(parts, intent)) ?? (await reserveInLimits(route, parts, intent))
    parts.seenKeys.add(tenantId, intent.reservation.key)
    if (!reserved.key.fingerprint.equals(intent.reservation.fingerprint)) {
      throw new ProblemError('idempotency-key-reused', { headers: expiry(reserved.key) })
    }
    const { role, accepted } = await takeRole(parts, intent, reserved)
    if (role === 'owner') {
      tell(reserved.key.id === intent.reservation.id ? 'created' : 'retry')
      parts.wakeWorkers()
    }

    const waitSeconds = secondsToWait(parts, intent.prefer, role)
    const now = await waitUntilSettled(parts, request, accepted, waitSeconds)
    const headers = { ...expiry(now.key), ...preferenceApplied(intent.prefer, role, waitSeconds) }
    const answer = await answerFor(route, parts, now, role, headers)
    return { ...answer, headers: { ...headers, ...answer.headers } }
  })
}

/**
 * The key, when it is likely to be taken: looking for it costs a fraction of trying to reserve it. It is
 * found as a reservation would find it; undefined when it is not there, as one that is forgotten.
 */
async function findSeen<Input>(
  parts: ApiParts,
  { reservation: { tenantId, key } }: Intent<Input>,
): Promise<Reserved | undefined> {
  if (!parts.seenKeys.has(tenantId, key)) return undefined
  try {
    const found = await parts.limits.storeBreaker.reserving(() => findKey(parts, tenantId, key))
    return found && { key: found, resource: null }
  } catch (error) {
    // Whoever reserves tries that again.
    if (isPassing(error)) return undefined
    throw error
  }
}

function findKey(
  parts: ApiParts,
  tenantId: string,
  key: string,
): Promise<IdempotencyKey | undefined> {
  return withinStoreTimeout(parts, findIdempotencyKey(parts.store.sql, tenantId, key))
}

function reserveInLimits<Input>(
  route: KeyedRoute<Input>,
  parts: ApiParts,
  intent: Intent<Input>,
): Promise<Reserved> {
  const { tenantId, key } = intent.reservation
  return parts.limits.activeKeys.within(
    tenantId,
    async () => (await findKey(parts, tenantId, key)) !== undefined,
    () => withSpan(reservationSpan(intent), () => reserve(route, parts, intent)),
  )
}

/** Whoever works on the operation goes on from here. */
function reservationSpan<Input>({
  reservation: { id, operation },
}: Intent<Input>): SpanDescription {
  const attributes = { 'atomic.operation.id': id, 'atomic.operation.name': operation }
  return { name: 'reserve', kind: 'producer', attributes }
}

async function reserve<Input>(
  route: KeyedRoute<Input>,
  parts: ApiParts,
  { reservation, input }: Intent<Input>,
): Promise<Reserved> {
  const { sql } = parts.store
  const traced = { ...reservation, traceparent: currentTraceparent() }
  for (let tries = 1; ; tries += 1) {
    try {
      const resource = route.resource(sql, input, parts)
      return await parts.limits.storeBreaker.reserving(() =>
        withinStoreTimeout(parts, reserveIntentAndShow(sql, traced, resource)),
      )
    } catch (error) {
      if (error instanceof KeyExpiredError) {
        throw await tellOfEarlierUse(parts, reservation, error)
      }
      if (error instanceof IntentRefusedError) {
        const refusal = await withinStoreTimeout(parts, route.explainRefusal(parts, input))
        throw await tellOfEarlierUse(parts, reservation, refusal)
      }
      if (!isPassing(error) || tries === RESERVE_TRIES) throw error
      parts.log.warn({ err: error }, 'reserving a key failed, trying again')
    }
  }
}

/** Another connection may do. Who has waited for the store already does not wait again. */
function isPassing(error: unknown): boolean {
  return isStoreUnavailable(error) && !(error instanceof StoreTimeoutError)
}

async function takeRole<Input>(
  parts: ApiParts,
  { reservation }: Intent<Input>,
  reserved: Reserved,
): Promise<{ role: Role; accepted: Reserved }> {
  const { key } = reserved
  if (key.id === reservation.id) return { role: 'owner', accepted: reserved }
  if (key.status !== 'failed_retryable') return { role: 'retry', accepted: reserved }
  if (await reopen(parts, key)) {
    return { role: 'owner', accepted: { ...reserved, key: { ...key, status: 'pending' } } }
  }
  // Another retry was first: what it has set going is in progress, or done already.
  return { role: 'retry', accepted: await readAgain(parts, key) }
}

async function readAgain(parts: ApiParts, key: IdempotencyKey): Promise<Reserved> {
  return { key: (await findKey(parts, key.tenantId, key.key)) ?? key, resource: null }
}

async function reopen(parts: ApiParts, key: IdempotencyKey): Promise<boolean> {
  try {
    return await withinStoreTimeout(parts, reopenOperation(parts, key))
  } catch (error) {
    if (!(error instanceof StaleResourceError)) throw error
    throw new ProblemError('invalid-state', { headers: expiry(key), cause: error })
  }
}

/** The owner waits unless it prefers not to; a retry is told at once, unless it prefers to wait. */
function secondsToWait({ settings }: ApiParts, prefer: Preferences, role: Role): number {
  const unasked = role === 'retry' || prefer.respondAsync ? 0 : settings.WAIT_SECONDS
  return Math.min(prefer.waitSeconds ?? unasked, settings.WAIT_MAX_SECONDS)
}

async function waitUntilSettled(
  parts: ApiParts,
  request: Request,
  accepted: Reserved,
  waitSeconds: number,
): Promise<Reserved> {
  const { key } = accepted
  const inProgress = key.status === 'pending' || key.status === 'processing'
  if (!inProgress || waitSeconds === 0) return accepted
  const gone = new AbortController()
  request.res?.once('close', () => gone.abort())
  const settled = await parts.watch.wait(key, waitSeconds * 1_000, gone.signal)
  return settled === undefined ? await readAgain(parts, key) : { key: settled, resource: null }
}

async function answerFor<Input>(
  route: KeyedRoute<Input>,
  parts: ApiParts,
  now: Reserved,
  role: Role,
  headers: Readonly<Record<string, string>>,
): Promise<Answer> {
  const { key } = now
  if (key.response !== null) return replay(key.response, role)
  if (role === 'owner' && key.status !== 'failed_retryable') {
    const { path, body } = await withinStoreTimeout(parts, route.showUnfinished(parts, now))
    return { status: 202, headers: { ...jsonType, ...retryAfter, location: path }, body }
  }
  const problem = {
    failed_retryable: 'provider-unavailable',
    unknown: 'outcome-unknown',
    pending: 'operation-in-progress',
    processing: 'operation-in-progress',
    completed: 'internal-error',
  } as const
  throw new ProblemError(problem[key.status], { headers: { ...headers, ...retryAfter } })
}

/** The stored response, marked as a replay for whoever did not set the operation going. */
export function replay(response: Answer, role: Role): Answer {
  if (role === 'owner') return response
  return { ...response, headers: { ...response.headers, 'idempotent-replayed': 'true' } }
}

/** When the key may be forgotten, as an HTTP date, and what it had made before that happened last. */
export function expiry({ expiresAt, earlier }: IdempotencyKey): Record<string, string> {
  return {
    'idempotency-key-expires': expiresAt.toUTCString(),
    ...(earlier === null ? {} : earlierUseHeaders(earlier)),
  }
}

/** Which preferences were followed (RFC 7240 section 3). */
function preferenceApplied(
  prefer: Preferences,
  role: Role,
  waitSeconds: number,
): Record<string, string> {
  const applied = []
  if (prefer.respondAsync && role === 'owner') applied.push('respond-async')
  if (prefer.waitSeconds !== undefined) applied.push(`wait=${waitSeconds}`)
  return applied.length === 0 ? {} : { 'preference-applied': applied.join(', ') }
}
