// Builds the answer to a keyed request: the stored response, or what the state of the operation says; adds
// the tombstone of the key, and reports the result to the observer.
import type { Sql } from '../../db/connection/client.ts'
import { inTenant } from '../../db/connection/transaction.ts'
import {
  type IdempotencyKey,
  findTombstone,
  FirstSentRefusedError,
  KeyExpiredError,
} from '../../db/idempotency/idempotency-keys.ts'
import type { Reservation } from '../../db/idempotency/intents.ts'
import type { ReferenceName } from '../../db/payments/payments.ts'
import type { RequestedKey } from '../../db/idempotency/reserve-keys.ts'
import { JOB_SCHEMA, OPERATIONS_QUEUE } from '../../db/queue/jobs.ts'
import { isStoreUnavailable } from '../../db/connection/store-errors.ts'
import {
  CANCEL_KEY,
  earlierResourcePath,
  type Tombstone,
  isSameRequest,
  type RequestFingerprints,
} from '../../domain/idempotency/idempotency-key.ts'
import { oldestAgeSeconds } from '../../domain/idempotency/repeatability.ts'
import type { ProblemType } from '../../domain/problems/problems.ts'
import { showId } from '../../domain/resource-id.ts'
import type { OperationRef, StoredResponse } from '../../domain/operations/operation.ts'
import { RESPONSE_VERSION } from '../../domain/operations/stored-response.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { withinStoreTimeout, type TenantParts, type TenantEndpoint } from '../endpoint.ts'
import { jsonType, retryAfter, type Answer } from '../responses/answer.ts'
import type { ReservationResult } from '../observer.ts'
import type { Request } from 'express'
import type { Preferences } from './prefer.ts'

/** `owner`: this request created or reopened the operation. `retry`: an earlier request did. */
export type Role = 'owner' | 'retry'

/**
 * Returns the stored response, marked as a replay unless the request owns the operation.
 *
 * @throws ProblemError store-unavailable for a response in the form of a newer version, in the middle
 *   of a deployment. A process of that version replays it.
 */
export function replay(key: IdempotencyKey, stored: StoredResponse, role: Role): Answer {
  const { version = RESPONSE_VERSION, status, headers } = stored
  if (version > RESPONSE_VERSION) {
    const detail = 'The response was stored by a newer version of the service.'
    throw new ProblemError('store-unavailable', { detail, headers: expiry(key) })
  }
  const mark = role === 'owner' ? {} : { 'idempotent-replayed': 'true' }
  return { status, headers: { ...expiry(key), ...headers, ...mark }, body: stored.body }
}

/** @throws ProblemError idempotency-key-reused unless the key belongs to this request. */
export function refuseOtherRequest(
  key: IdempotencyKey,
  fingerprints: RequestFingerprints,
  count?: (key: IdempotencyKey) => void,
): void {
  // A key that was canceled before its request arrived is final for every request.
  if (key.operation === CANCEL_KEY || isSameRequest(key, fingerprints)) return
  count?.(key)
  throw new ProblemError('idempotency-key-reused', { headers: expiry(key) })
}

/** Returns the headers with the expiry of the key, and with its tombstone. */
export function expiry({ expiresAt, earlier }: IdempotencyKey): Record<string, string> {
  return {
    'idempotency-key-expires': expiresAt.toUTCString(),
    ...(earlier === null ? {} : tombstoneHeaders(earlier)),
  }
}

/** The kind of resource that an operation creates or changes. */
export interface KeyedResource {
  readonly kind: ReferenceName['kind']
  /** Shows the row that the reservation returned; without one, reads the resource. */
  readonly read: (sql: Sql, reservation: Reservation) => Promise<ShownResource | undefined>
}

interface ShownResource {
  readonly path: string
  readonly json: Readonly<Record<string, unknown>>
  readonly status: string
  readonly reference: string | null
}

/** How a request with a key wants its answer. */
interface AnswerOptions {
  readonly role: Role
  readonly prefer: Preferences
  /** How long it waited for the result. */
  readonly waitSeconds: number
  /** Is told what the answer counts as if its status does not tell. */
  readonly report: Report
}

type Report = (result: ReservationResult) => void

/**
 * Returns the stored response. Without one, the request that owns the operation gets a 202, and so
 * does a retry that prefers to be answered at once: it is what the first request got.
 *
 * @throws ProblemError for other retries, and when the operation waits for a retry.
 */
export async function answerFor(
  resource: KeyedResource,
  parts: TenantParts,
  now: Reservation,
  options: AnswerOptions,
): Promise<Answer> {
  const { key } = now
  const { role, prefer, report } = options
  if (role === 'retry')
    parts.keyed.replays.count(key, key.response === null ? 'conflicts' : 'replays')
  const preference = preferenceApplied(key, options)
  if (key.response !== null) {
    const stored = replay(key, key.response, role)
    return { ...stored, headers: { ...preference, ...stored.headers } }
  }
  const later = {
    ...expiry(key),
    ...preference,
    ...retryAfter(await secondsUntilChange(parts, key)),
  }
  if (isAccepted(key) && (role === 'owner' || prefer.respondAsync)) {
    const reading = resource.read(parts.store.sql, now)
    const { path, json } = (await withinStoreTimeout(parts, reading)) ?? lost(key)
    // A retry that gets the 202 of the first request executes nothing.
    if (role === 'retry') report(key.status === 'unknown' ? 'unknown' : 'in_progress')
    const headers = { ...jsonType, ...later, location: path }
    return { status: 202, headers, body: JSON.stringify(json) }
  }
  const problem = {
    failed_retryable: 'provider-unavailable',
    unknown: 'outcome-unknown',
    pending: 'operation-in-progress',
    processing: 'operation-in-progress',
    completed: 'internal-error',
  } as const
  throw new ProblemError(problem[key.status], { headers: later })
}

function lost({ id }: IdempotencyKey): never {
  throw new Error(`operation ${id} has lost its resource`)
}

/** Whether the operation goes on by itself, so that a 202 is true. */
function isAccepted({ response, status }: IdempotencyKey): boolean {
  return response === null && status !== 'failed_retryable'
}

/**
 * Returns the header with the preferences that were applied (RFC 7240 section 3). A retry applies
 * `respond-async` only by its 202.
 */
function preferenceApplied(
  key: IdempotencyKey,
  { role, prefer, waitSeconds }: AnswerOptions,
): Record<string, string> {
  const applied = []
  if (prefer.respondAsync && (role === 'owner' || isAccepted(key))) applied.push('respond-async')
  if (prefer.waitSeconds !== undefined) applied.push(`wait=${waitSeconds}`)
  return applied.length === 0 ? {} : { 'preference-applied': applied.join(', ') }
}

/** Nothing is scheduled any more: a person has to look. They have no schedule to derive this from. */
const PERSON_SECONDS = 3_600

/** A worker takes a job that is due in milliseconds. */
const SOON_SECONDS = 1

/**
 * Seconds until the state of an operation without a response changes by itself. There is no upper
 * bound: a client that asks before the next check of an unknown outcome learns nothing. Operators
 * and events of the provider can end it earlier, which webhooks announce.
 */
async function secondsUntilChange(parts: TenantParts, key: IdempotencyKey): Promise<number> {
  const { settings, store } = parts
  switch (key.status) {
    case 'unknown':
      return key.dueInSeconds ?? PERSON_SECONDS
    case 'processing':
      return secondsOfLease(settings, key.dueInSeconds ?? 0)
    case 'pending': {
      if (key.attempts === 0) return SOON_SECONDS
      const start = await withinStoreTimeout(parts, findSecondsUntilStart(store.sql, key))
      // The sweeper gives an operation without a job a new one.
      return start ?? settings.SWEEP_INTERVAL_MS / 1_000
    }
    // The retry itself continues the operation, and its call waits for the circuit of the provider.
    case 'failed_retryable':
      return settings.BREAKER_OPEN_MS / 1_000
    case 'completed':
      return SOON_SECONDS
  }
}

/** Seconds until the job starts, below 0 when it is due. Undefined when the operation has no job. */
export async function findSecondsUntilStart(
  sql: Sql,
  { tenantId, id }: OperationRef,
): Promise<number | undefined> {
  return await inTenant(sql, tenantId, async (tx) => {
    const [operation] = await tx<{ job: string }[]>`
      select job_id as job from idempotency_keys where tenant_id = ${tenantId} and id = ${id}
    `
    if (operation === undefined) return undefined
    const [row] = await tx<{ seconds: number }[]>`
      select extract(epoch from start_after - now())::float8 as seconds from ${tx(JOB_SCHEMA)}.job
      where name = ${OPERATIONS_QUEUE} and id = ${operation.job}
    `
    return row?.seconds
  })
}

/**
 * Most runs end within a second, and a run whose worker died ends with its lease. So the client asks
 * again after as long as the lease has lasted, and at its end at the latest; the sweeper takes over
 * then.
 */
function secondsOfLease(
  { LEASE_MS, SWEEP_INTERVAL_MS }: TenantParts['settings'],
  remaining: number,
): number {
  if (remaining <= 0) return SWEEP_INTERVAL_MS / 1_000
  return Math.min(remaining, LEASE_MS / 1_000 - remaining)
}

/** Returns the headers of every response to a key that has a tombstone. */
export function tombstoneHeaders(earlier: Tombstone): Record<string, string> {
  const path = earlierResourcePath(earlier)
  return {
    'idempotency-key-expired': earlier.expiredAt.toUTCString(),
    ...(path === undefined ? {} : { 'idempotency-earlier-resource': path }),
  }
}

export function keyExpired(earlier: Tombstone): ProblemError {
  const path = earlierResourcePath(earlier)
  const resource = path === undefined ? '' : ` The resource it was used for is at ${path}.`
  const detail = `The key expired at ${earlier.expiredAt.toISOString()}.${resource}`
  return new ProblemError('idempotency-key-expired', {
    detail,
    headers: tombstoneHeaders(earlier),
  })
}

/**
 * The refusal of a request for the time at which it was first sent. The store has decided by its
 * clock; here the two reasons are told apart, which are at least a day from each other.
 */
function refusalOfFirstSent(ageSeconds: number): ProblemError {
  const isInFuture = ageSeconds < 0
  return new ProblemError(
    isInFuture ? 'repeatability-first-sent-in-future' : 'repeatability-first-sent-too-old',
  )
}

/** Adds the tombstone of the key, if any, to the error of a request that reserved no key. */
export async function errorWithTombstone(
  parts: TenantParts,
  request: RequestedKey,
  error: unknown,
): Promise<unknown> {
  const { tenantId, key, firstSent, retentionSeconds } = request
  const ageSeconds = firstSent === undefined ? 0 : (Date.now() - firstSent.getTime()) / 1_000
  if (error instanceof FirstSentRefusedError) return refusalOfFirstSent(ageSeconds)
  if (error instanceof KeyExpiredError) {
    if (ageSeconds < oldestAgeSeconds(retentionSeconds)) return keyExpired(error.earlier)
    return refusalOfFirstSent(ageSeconds).withHeaders(tombstoneHeaders(error.earlier))
  }
  if (!(error instanceof ProblemError)) return error
  // The key was not reserved, so no row of it could have the tombstone.
  const lookup = findTombstone(parts.store.sql, tenantId, key)
  const earlier = await withinStoreTimeout(parts, lookup)
  if (earlier === undefined) return error
  return error.withHeaders(tombstoneHeaders(earlier))
}

/** A keyed endpoint. It calls `report` when its answer does not show the result. */
export type KeyedEndpoint = (
  parts: TenantParts,
  request: Request,
  tenantId: string,
  report: Report,
) => Promise<Answer>

const resultOfProblem: { readonly [Type in ProblemType]?: ReservationResult } = {
  'idempotency-key-reused': 'misuse',
  'idempotency-key-expired': 'expired',
  'repeatability-first-sent-too-old': 'expired',
  'operation-in-progress': 'in_progress',
  // Another retry reopened the operation, and it failed again in the meantime.
  'provider-unavailable': 'in_progress',
  'outcome-unknown': 'unknown',
  'store-unavailable': 'store_error',
}

export function observeReservations(endpoint: KeyedEndpoint): TenantEndpoint {
  return async (parts, request, tenantId) => {
    let isReported = false
    const report = (result: ReservationResult | undefined): void => {
      if (isReported || result === undefined) return
      isReported = true
      parts.observe.reserved(showId('tnt', tenantId), result)
    }
    try {
      const answer = await endpoint(parts, request, tenantId, report)
      const isReplay = answer.headers?.['idempotent-replayed'] !== undefined
      report(isReplay ? 'replayed' : 'created')
      return answer
    } catch (error) {
      report(resultOfError(error))
      throw error
    }
  }
}

function resultOfError(error: unknown): ReservationResult | undefined {
  if (error instanceof ProblemError) return resultOfProblem[error.type]
  return isStoreUnavailable(error) ? 'store_error' : undefined
}
