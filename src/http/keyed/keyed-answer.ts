// Builds the answer to a keyed request: the stored response, or what the state of the operation says.
import {
  type IdempotencyKey,
  findSecondsUntilStart,
} from '../../db/idempotency/idempotency-keys.ts'
import type { Reservation } from '../../db/idempotency/intents.ts'
import { CANCEL_KEY } from '../../domain/idempotency/idempotency-key.ts'
import { isSameRequest, type RequestFingerprints } from '../../domain/idempotency/fingerprint.ts'
import type { StoredResponse } from '../../domain/operations/operation.ts'
import { RESPONSE_VERSION } from '../../domain/operations/stored-response.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { withinStoreTimeout, type ApiParts } from '../endpoint.ts'
import { jsonType, retryAfter, type Answer } from '../responses/answer.ts'
import type { ReservationResult } from '../observer.ts'
import type { KeyedRoute } from './keyed-route.ts'
import type { Preferences } from './prefer.ts'
import { tombstoneHeaders } from './tombstone-headers.ts'
import { findPayment, paymentFromRow, type PaymentRow } from '../../db/payments/payments.ts'
import { findRefund, refundFromRow, type RefundRow } from '../../db/payments/refunds.ts'
import { paymentPath, presentPayment, type Payment } from '../../domain/payments/payment.ts'
import { presentRefund, refundPath, type Refund } from '../../domain/payments/refund.ts'

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

/** How a request with a key wants its answer. */
interface Asked {
  readonly role: Role
  readonly prefer: Preferences
  /** How long it waited for the result. */
  readonly waitSeconds: number
}

/** An answer, and what it counts as if its status does not tell. */
interface KeyedAnswer {
  readonly answer: Answer
  readonly result?: ReservationResult
}

/**
 * Returns the stored response. Without one, the request that owns the operation gets a 202, and so
 * does a retry that prefers to be answered at once: it is what the first request got.
 *
 * @throws ProblemError for other retries, and when the operation waits for a retry.
 */
export async function answerFor(
  route: KeyedRoute,
  parts: ApiParts,
  now: Reservation,
  asked: Asked,
): Promise<KeyedAnswer> {
  const { key } = now
  const { role, prefer } = asked
  if (role === 'retry') parts.replays.count(key, key.response === null ? 'conflicts' : 'replays')
  const preference = preferenceApplied(key, asked)
  if (key.response !== null) {
    const stored = replay(key, key.response, role)
    return { answer: { ...stored, headers: { ...preference, ...stored.headers } } }
  }
  const later = {
    ...expiry(key),
    ...preference,
    ...retryAfter(await secondsUntilChange(parts, key)),
  }
  if (isAccepted(key) && (role === 'owner' || prefer.respondAsync)) {
    const { path, body } = await withinStoreTimeout(parts, route.showUnfinished(parts, now))
    const answer = { status: 202, headers: { ...jsonType, ...later, location: path }, body }
    // A retry that gets the 202 of the first request executes nothing.
    return role === 'owner' ? { answer } : { answer, result: resultOf(key) }
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

const resultOf = ({ status }: IdempotencyKey) => (status === 'unknown' ? 'unknown' : 'in_progress')

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
  { role, prefer, waitSeconds }: Asked,
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
async function secondsUntilChange(parts: ApiParts, key: IdempotencyKey): Promise<number> {
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

/**
 * Most runs end within a second, and a run whose worker died ends with its lease. So the client asks
 * again after as long as the lease has lasted, and at its end at the latest; the sweeper takes over
 * then.
 */
function secondsOfLease(
  { LEASE_MS, SWEEP_INTERVAL_MS }: ApiParts['settings'],
  remaining: number,
): number {
  if (remaining <= 0) return SWEEP_INTERVAL_MS / 1_000
  return Math.min(remaining, LEASE_MS / 1_000 - remaining)
}

interface UnfinishedResource {
  readonly path: string
  readonly body: string
}

/** Renders the row that the reservation returned; without one, reads the resource. */
export async function showPayment(
  { store }: ApiParts,
  { key: { tenantId, paymentId, id }, resource }: Reservation,
): Promise<UnfinishedResource> {
  if (resource !== null) return renderPayment(paymentFromRow(resource as PaymentRow))
  const payment = paymentId === null ? undefined : await findPayment(store.sql, tenantId, paymentId)
  if (payment === undefined) throw new Error(`operation ${id} has no payment`)
  return renderPayment(payment)
}

function renderPayment(payment: Payment): UnfinishedResource {
  return { path: paymentPath(payment.id), body: JSON.stringify(presentPayment(payment)) }
}

/** Renders the row that the reservation returned; without one, reads the resource. */
export async function showRefund(
  { store }: ApiParts,
  { key: { tenantId, refundId, id }, resource }: Reservation,
): Promise<UnfinishedResource> {
  if (resource !== null) return renderRefund(refundFromRow(resource as RefundRow))
  const refund = refundId === null ? undefined : await findRefund(store.sql, tenantId, refundId)
  if (refund === undefined) throw new Error(`operation ${id} has no refund`)
  return renderRefund(refund)
}

function renderRefund(refund: Refund): UnfinishedResource {
  return { path: refundPath(refund.id), body: JSON.stringify(presentRefund(refund)) }
}
