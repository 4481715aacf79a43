// Serves every POST that begins an operation under an idempotency key. The operation is accepted
// once, however often the request is sent, and every retry gets its stored response or its current
// state. Follows https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/ (07).
import type { Request } from 'express'
import { FirstSentRefusedError, KeyExpiredError } from '../../db/idempotency/key-tombstones.ts'
import type { Intent } from '../../db/idempotency/intent.ts'
import {
  IntentRefusedError,
  type Reservation,
  DuplicateReferenceError,
} from '../../db/idempotency/intents.ts'
import type { IdempotencyKey } from '../../db/idempotency/idempotency-keys.ts'
import {
  StaleResourceError,
  findPayment,
  findUserOfReference,
  type ReferenceName,
} from '../../db/payments/payments.ts'
import { isStoreUnavailable, StoreTimeoutError } from '../../db/connection/store-errors.ts'
import { fingerprintRequest } from '../../domain/idempotency/fingerprint.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { showId } from '../../domain/resource-id.ts'
import { reopenOperation } from '../../engine/reopen-operation.ts'
import { currentTraceparent, withSpan, type SpanDescription } from '../../tracing/spans.ts'
import { withTombstone } from './tombstone-headers.ts'
import { headerLines, withinStoreTimeout, type ApiParts, type TenantEndpoint } from '../endpoint.ts'
import { answerFor, expiry, refuseOtherRequest, type Role } from './keyed-answer.ts'
import {
  readIntent,
  readKeyedRequest,
  type KeyedIntent,
  type KeyedRequest,
  refuseShortKey,
} from './keyed-intent.ts'
import type { KeyedRoute, OperationEndpoint } from './keyed-route.ts'
import { observeReservations } from './observe-reservations.ts'
import { parsePrefer, type Preferences } from './prefer.ts'
import { findRefund } from '../../db/payments/refunds.ts'
import { paymentPath, showPaymentId, type Payment } from '../../domain/payments/payment.ts'
import { refundPath, showRefundId, type Refund } from '../../domain/payments/refund.ts'

/**
 * After a lost acknowledgment the same intent is written again, which is safe: it has the same ids.
 */
const RESERVE_TRIES = 3

export function keyedEndpoint(route: KeyedRoute): OperationEndpoint {
  return { ...route, endpoint: serveKeyed(route) }
}

function serveKeyed(route: KeyedRoute): TenantEndpoint {
  return observeReservations(async (parts, request, tenantId, observe) => {
    const epoch = parts.answers.epoch()
    const found = await findOrReserve(route, parts, request, tenantId)
    const { role, accepted } = await takeRole(parts, found)
    parts.answers.keep(epoch, accepted.key)
    if (role === 'owner') {
      observe(found.isNew ? 'created' : 'retry')
      parts.wakeWorkers()
    }

    const prefer = parsePrefer(headerLines(request, 'prefer'))
    const waitSeconds = secondsToWait(parts, prefer, role)
    const now = await waitUntilIdle(parts, request, accepted, waitSeconds)
    if (now !== accepted) parts.answers.keep(epoch, now.key)
    const { answer, result } = await answerFor(route, parts, now, { role, prefer, waitSeconds })
    if (result !== undefined) observe(result)
    return answer
  })
}

interface Found {
  readonly reservation: Reservation
  /** Whether this request reserved the key. */
  readonly isNew: boolean
}

async function findOrReserve(
  route: KeyedRoute,
  parts: ApiParts,
  request: Request,
  tenantId: string,
): Promise<Found> {
  const keyed = await readKeyedRequest(route.contract.body, parts, request)
  const recent = await findRecent(parts, tenantId, keyed)
  // A request that was accepted is valid: a retry of it is not validated again.
  if (recent !== undefined && isSent(recent.key, keyed)) {
    return { reservation: recent, isNew: false }
  }
  const requested = { parts, request, tenantId, body: keyed.body }
  const intended = await readIntent(route, requested, keyed).catch(async (refusal: unknown) => {
    const accepted = await findAccepted(parts, tenantId, keyed)
    if (accepted === undefined) throw refusal
    return accepted
  })
  if ('reservation' in intended) return intended
  const { intent, fingerprints } = intended
  const reservation = recent ?? (await reserveInLimits(parts, intended))
  parts.recentKeys.add(tenantId, intent.key)
  refuseOtherRequest(reservation.key, fingerprints, (key) => parts.replays.count(key, 'mismatches'))
  return { reservation, isNew: reservation.key.id === intent.id }
}

/** Finds the key of a request that an earlier version of the service accepted, and this one refuses. */
async function findAccepted(
  parts: ApiParts,
  tenantId: string,
  keyed: KeyedRequest,
): Promise<Found | undefined> {
  const find = () => findKey(parts, tenantId, keyed.key)
  const key = await parts.limits.storeBreaker.reserving(find)
  if (key === undefined || !isSent(key, keyed)) return undefined
  return { reservation: { key, resource: null }, isNew: false }
}

/** A body that has no fingerprint is another one, which the validation refuses. */
function isSent({ fingerprint }: IdempotencyKey, keyed: KeyedRequest): boolean {
  try {
    return fingerprint.equals(fingerprintRequest(keyed))
  } catch {
    return false
  }
}

/** Finds a copy of the answer, or the row of a key that this process knows to be reserved. */
async function findRecent(
  parts: ApiParts,
  tenantId: string,
  keyed: KeyedRequest,
): Promise<Reservation | undefined> {
  const { key } = keyed
  const copy = await parts.answers.find({ tenantId, key })
  if (copy !== undefined && isSent(copy, keyed)) return { key: copy, resource: null }
  if (!parts.recentKeys.has(tenantId, key)) return undefined
  try {
    const reserved = await parts.limits.storeBreaker.reserving(() => findKey(parts, tenantId, key))
    return reserved && { key: reserved, resource: null }
  } catch (error) {
    // The reservation that follows tries the store again.
    if (isPassing(error)) return undefined
    throw error
  }
}

function findKey(
  parts: ApiParts,
  tenantId: string,
  key: string,
): Promise<IdempotencyKey | undefined> {
  return withinStoreTimeout(parts, parts.findKey(parts.store.sql, { tenantId, key }))
}

async function reserveInLimits(parts: ApiParts, keyed: KeyedIntent): Promise<Reservation> {
  const { tenantId, key } = keyed.intent
  const { MAX_ACTIVE_KEYS, MAX_STORED_KEYS } = parts.settings
  const isKnown = async () => (await findKey(parts, tenantId, key)) !== undefined
  await refuseShortKey(parts.settings, key, isKnown)
  const { activeKeys, storedKeys } = parts.limits
  return await storedKeys.within({ tenantId, most: MAX_STORED_KEYS }, isKnown, () =>
    activeKeys.within({ tenantId, most: MAX_ACTIVE_KEYS }, isKnown, () =>
      withSpan(reservationSpan(keyed.intent), () => reserve(parts, keyed)),
    ),
  )
}

/** The parent of the worker's spans. */
function reservationSpan({ id, operation }: Intent): SpanDescription {
  const attributes = () => ({
    'atomic.operation.id': showId('op', id),
    'atomic.operation.name': operation,
  })
  return { name: 'reserve', kind: 'producer', attributes }
}

async function reserve(parts: ApiParts, keyed: KeyedIntent): Promise<Reservation> {
  const { intent, resource } = keyed
  const { sql } = parts.store
  const traced = { ...intent, traceparent: currentTraceparent() }
  for (let tries = 1; ; tries += 1) {
    try {
      return await parts.limits.storeBreaker.reserving(() =>
        withinStoreTimeout(parts, parts.reserve(sql, traced, resource)),
      )
    } catch (error) {
      if (error instanceof KeyExpiredError || error instanceof FirstSentRefusedError) {
        throw await withTombstone(parts, intent, error)
      }
      if (error instanceof IntentRefusedError) {
        const refusal = await explainRefusedIntent(parts, keyed, error)
        // Another request with this key may have been accepted since.
        const key = await findKey(parts, intent.tenantId, intent.key)
        if (key !== undefined) return { key, resource: null }
        if (refusal === undefined && tries < RESERVE_TRIES) continue
        throw await withTombstone(parts, intent, refusal ?? new ProblemError('duplicate-reference'))
      }
      if (!isPassing(error) || tries === RESERVE_TRIES) throw error
      parts.log.warn({ err: error }, 'reserving a key failed, trying again')
    }
  }
}

/** Another connection may work. After a timeout the request must not wait for the store again. */
function isPassing(error: unknown): boolean {
  return isStoreUnavailable(error) && !(error instanceof StoreTimeoutError)
}

async function takeRole(
  parts: ApiParts,
  { reservation, isNew }: Found,
): Promise<{ role: Role; accepted: Reservation }> {
  const { key } = reservation
  if (isNew) return { role: 'owner', accepted: reservation }
  if (key.status !== 'failed_retryable') return { role: 'retry', accepted: reservation }
  if (await reopen(parts, key)) {
    return { role: 'owner', accepted: { ...reservation, key: { ...key, status: 'pending' } } }
  }
  // Another retry was first: the operation that it reopened is in progress or already idle again.
  return { role: 'retry', accepted: await readAgain(parts, key) }
}

async function readAgain(parts: ApiParts, key: IdempotencyKey): Promise<Reservation> {
  return { key: (await findKey(parts, key.tenantId, key.key)) ?? key, resource: null }
}

async function reopen(parts: ApiParts, key: IdempotencyKey, tries = 1): Promise<boolean> {
  try {
    return await withinStoreTimeout(parts, reopenOperation(parts, key))
  } catch (cause) {
    if (!(cause instanceof StaleResourceError)) throw cause
    const problem = await explainStale(parts, key, cause)
    if (problem === undefined && tries < RESERVE_TRIES) return await reopen(parts, key, tries + 1)
    throw (problem ?? new ProblemError('invalid-state', { cause })).withHeaders(expiry(key))
  }
}

/** The owner waits unless it prefers not to. A retry waits only if it prefers to. */
function secondsToWait({ settings }: ApiParts, prefer: Preferences, role: Role): number {
  const defaultSeconds = role === 'retry' || prefer.respondAsync ? 0 : settings.WAIT_SECONDS
  return Math.min(prefer.waitSeconds ?? defaultSeconds, settings.WAIT_MAX_SECONDS)
}

async function waitUntilIdle(
  parts: ApiParts,
  request: Request,
  accepted: Reservation,
  waitSeconds: number,
): Promise<Reservation> {
  const { key } = accepted
  const inProgress = key.status === 'pending' || key.status === 'processing'
  if (!inProgress || waitSeconds === 0) return accepted
  const disconnect = new AbortController()
  const abort = () => disconnect.abort()
  request.res?.once('close', abort)
  const idleKey = await parts.watch.wait(key, waitSeconds * 1_000, disconnect.signal)
  // Every response closes in the end, and an abort is expensive.
  request.res?.off('close', abort)
  return idleKey === undefined ? await readAgain(parts, key) : { key: idleKey, resource: null }
}

/**
 * Undefined when no payment or refund uses the reference any more, so that the request may succeed
 * now.
 */
async function explainRefusedIntent(
  parts: ApiParts,
  { intent: { tenantId, refundId, details }, explainRefusal }: KeyedIntent,
  error: IntentRefusedError,
): Promise<ProblemError | undefined> {
  if (!(error instanceof DuplicateReferenceError)) {
    return await withinStoreTimeout(parts, explainRefusal())
  }
  const kind = refundId === null ? 'payment' : 'refund'
  return await explainDuplicate(parts, tenantId, kind, details?.reference ?? null)
}

/**
 * Explains why a failed operation cannot go on: its resource has changed, or lost its reference.
 * Undefined when its reference is free again, so that it may go on now.
 */
async function explainStale(
  parts: ApiParts,
  { tenantId, paymentId, refundId }: IdempotencyKey,
  cause: StaleResourceError,
): Promise<ProblemError | undefined> {
  const { sql } = parts.store
  const kind = refundId === null ? 'payment' : 'refund'
  const id = refundId ?? paymentId ?? ''
  const search = kind === 'refund' ? findRefund(sql, tenantId, id) : findPayment(sql, tenantId, id)
  const stale = await withinStoreTimeout<Payment | Refund | undefined>(parts, search)
  const isUnchanged = stale?.status === 'failed' && stale.reference !== null
  if (!isUnchanged) return new ProblemError('invalid-state', { cause })
  return await explainDuplicate(parts, tenantId, kind, stale.reference)
}

async function explainDuplicate(
  parts: ApiParts,
  tenantId: string,
  kind: ReferenceName['kind'],
  reference: string | null,
): Promise<ProblemError | undefined> {
  if (reference === null) return undefined
  const search = findUserOfReference(parts.store.sql, { tenantId, kind, reference })
  const id = await withinStoreTimeout(parts, search)
  if (id === undefined) return undefined
  const [earlier, location] =
    kind === 'refund' ? [showRefundId(id), refundPath(id)] : [showPaymentId(id), paymentPath(id)]
  const detail = `The ${kind} ${earlier} has this reference.`
  return new ProblemError('duplicate-reference', { detail, extensions: { earlier, location } })
}
