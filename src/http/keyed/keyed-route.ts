// Defines and serves the POST that begins an operation under an idempotency key. The operation is accepted
// once, however often the request is sent, and every retry gets its stored response or its current
// state. Follows https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/ (07).
import type { z } from 'zod'
import { isStoreUnavailable, StoreTimeoutError } from '../../db/connection/store-errors.ts'
import {
  type IdempotencyKey,
  FirstSentRefusedError,
  KeyExpiredError,
} from '../../db/idempotency/idempotency-keys.ts'
import { noResource, type Intent, type WriteResources } from '../../db/idempotency/intent.ts'
import {
  IntentRefusedError,
  type Reservation,
  DuplicateReferenceError,
} from '../../db/idempotency/intents.ts'
import {
  StaleResourceError,
  findUserOfReference,
  type ReferenceName,
} from '../../db/payments/payments.ts'
import { fingerprintRequest } from '../../domain/idempotency/idempotency-key.ts'
import { paymentPath, showPaymentId } from '../../domain/payments/payment.ts'
import { refundPath, showRefundId } from '../../domain/payments/refund.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { showId } from '../../domain/resource-id.ts'
import type { Scope } from '../../domain/tenants/api-key.ts'
import type { Operation } from '../../engine/define-operation.ts'
import { reopenOperation } from '../../engine/reopen-or-cancel.ts'
import { currentTraceparent, withSpan } from '../../tracing/spans.ts'
import type { BodyContract, Contract } from '../contracts/contract.ts'
import {
  headerLines,
  withinStoreTimeout,
  type TenantParts,
  type TenantEndpoint,
} from '../endpoint.ts'
import {
  answerFor,
  expiry,
  observeReservations,
  refuseOtherRequest,
  errorWithTombstone,
  type KeyedResource,
  type Role,
} from './keyed-answer.ts'
import {
  findKey,
  fingerprintsOf,
  requestedKeyOf,
  readKeyedRequest,
  withinKeyLimits,
  type KeyedRequest,
} from './keyed-request.ts'
import { parsePrefer, type Preferences } from './prefer.ts'

/** What a route derives from a request: what to write, and why that may be refused. */
export interface Draft
  extends Pick<Intent, 'paymentId' | 'details'>, Partial<Pick<Intent, 'refundId' | 'parameters'>> {
  /** Creates or marks the resource. The same function for all requests of the route. */
  readonly resource: WriteResources
  /**
   * Explains why `resource` returned no row, or a customer is not the tenant's. Reads the store again, after
   * the transaction.
   */
  readonly explainRefusal: () => Promise<ProblemError>
}

/** The part of a keyed request of which a draft is made. */
type RequestParts = Pick<KeyedRequest, 'parts' | 'request' | 'tenantId' | 'body'>

/** Describes one keyed POST. */
export interface KeyedRoute {
  readonly operation: Operation
  readonly path: string
  readonly scope: Scope
  /** What openapi.yaml says about it. */
  readonly contract: KeyedContract
  /**
   * Reads the request. It runs before the key is reserved, also for a retry whose key this
   * process does not know. So it may refuse
   * only errors that no later state can change, for example a malformed body or an unknown id.
   * Conditions on a state belong into `resource`, which retries do not run. Throws ProblemError.
   */
  readonly readBeforeKey: (request: RequestParts) => Promise<Draft>
  readonly resource: KeyedResource
}

/** The contract of a POST whose operation calls the provider. */
export type KeyedContract = Contract & {
  readonly keyed: 'foreign'
  readonly body: BodyContract & { readonly schema: z.ZodObject }
}

/** The POST of an operation, as the routes and openapi.yaml use it. */
export interface OperationEndpoint extends KeyedRoute {
  readonly endpoint: TenantEndpoint
}

/**
 * The draft, or with a problem one whose key is deleted again in the transaction that inserted it. Use it
 * for rules that may become stricter, for example the amounts that the provider accepts: unlike an error of
 * `readBeforeKey`, the problem is only for new operations. A retry of one that was accepted before still
 * gets its response.
 */
export function refusing(problem: ProblemError | undefined, draft: Draft): Draft {
  if (problem === undefined) return draft
  const { details: _details, ...others } = draft
  return { ...others, resource: noResource, explainRefusal: () => Promise.resolve(problem) }
}

/** The problem of a request whose tenant requires a reference, if it has none: see `refusing`. */
export function findReferenceProblem(
  { tenant }: TenantParts,
  reference: string | null,
): ProblemError | undefined {
  if (tenant?.requiresReference !== true || reference !== null) return undefined
  const errors = [{ pointer: '/reference', detail: 'Required' }]
  return new ProblemError('reference-required', { errors })
}

/** To write the same intent again is safe: it has the same ids. */
const RESERVE_TRIES = 3

export function defineKeyedRoute(route: KeyedRoute): OperationEndpoint {
  const endpoint = observeReservations(async (parts, request, tenantId, report) => {
    const epoch = parts.keyed.answers.epoch()
    const keyed = await readKeyedRequest(parts, request, tenantId, route.contract.body)
    const found = await findOrReserve(route, keyed)
    const { role, accepted } = await reopenOrJoin(route, parts, found)
    parts.keyed.answers.keep(epoch, accepted.key)
    if (role === 'owner') {
      report(found.isNew ? 'created' : 'retry')
      parts.wake.workers()
    }

    const prefer = parsePrefer(headerLines(request, 'prefer'))
    const waitSeconds = secondsToWait(parts, prefer, role)
    const now = await waitUntilIdle(keyed, accepted, waitSeconds)
    if (now !== accepted) parts.keyed.answers.keep(epoch, now.key)
    return await answerFor(route.resource, parts, now, { role, prefer, waitSeconds, report })
  })
  return { ...route, endpoint }
}

interface Found extends Reservation {
  /** Whether this request reserved the key. */
  readonly isNew: boolean
}

const known = (key: IdempotencyKey): Found => ({ key, resource: null, isNew: false })

async function findOrReserve(route: KeyedRoute, keyed: KeyedRequest): Promise<Found> {
  const { parts, tenantId } = keyed
  const recent = await findRecent(keyed)
  // A request that was accepted is valid: a retry of it is not validated again.
  if (recent !== undefined && isSent(recent, keyed)) return known(recent)
  let draft: Draft
  try {
    draft = await withinStoreTimeout(parts, route.readBeforeKey(keyed))
  } catch (refusal) {
    // An earlier version of the service may have accepted what this one refuses.
    const key = await parts.limits.storeBreaker.reserving(() => findKey(parts, keyed))
    if (key === undefined || !isSent(key, keyed)) throw refusal
    return known(key)
  }
  const { resource: _resource, explainRefusal: _explainRefusal, ...about } = draft
  const fingerprints = fingerprintsOf(route.contract.body.schema, keyed)
  const key = requestedKeyOf(keyed, route.operation.name, fingerprints)
  const intent = { refundId: null, parameters: {}, ...key, ...about }
  const reservation = recent ? known(recent) : await reserveInLimits(parts, intent, draft)
  parts.keyed.recentKeys.add(tenantId, keyed.key)
  refuseOtherRequest(reservation.key, fingerprints, (used) =>
    parts.keyed.replays.count(used, 'mismatches'),
  )
  return { ...reservation, isNew: reservation.key.id === intent.id }
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
async function findRecent(keyed: KeyedRequest): Promise<IdempotencyKey | undefined> {
  const { parts, tenantId, key } = keyed
  const copy = await parts.keyed.answers.find({ tenantId, key })
  if (copy !== undefined && isSent(copy, keyed)) return copy
  if (!parts.keyed.recentKeys.has(tenantId, key)) return undefined
  try {
    return await parts.limits.storeBreaker.reserving(() => findKey(parts, keyed))
  } catch (error) {
    // The reservation that follows tries the store again.
    if (isPassing(error)) return undefined
    throw error
  }
}

function reserveInLimits(parts: TenantParts, intent: Intent, draft: Draft): Promise<Reservation> {
  const tenant = { tenantId: intent.tenantId, most: parts.settings.MAX_ACTIVE_KEYS }
  const attributes = () => ({
    'atomic.operation.id': showId('op', intent.id),
    'atomic.operation.name': intent.operation,
  })
  // The parent of the worker's spans.
  const span = { name: 'reserve', kind: 'producer', attributes } as const
  return withinKeyLimits(parts, intent, (isKnown) =>
    parts.limits.activeKeys.within(tenant, isKnown, () =>
      withSpan(span, () => reserve(parts, intent, draft)),
    ),
  )
}

async function reserve(parts: TenantParts, intent: Intent, draft: Draft): Promise<Reservation> {
  const { sql } = parts.store
  const traced = { ...intent, traceparent: currentTraceparent() }
  for (let tries = 1; ; tries += 1) {
    try {
      return await parts.limits.storeBreaker.reserving(() =>
        withinStoreTimeout(parts, parts.keyed.reserve(sql, traced, draft.resource)),
      )
    } catch (error) {
      if (error instanceof KeyExpiredError || error instanceof FirstSentRefusedError) {
        throw await errorWithTombstone(parts, intent, error)
      }
      if (error instanceof IntentRefusedError) {
        const refusal = await explainRefusedIntent(parts, intent, draft, error)
        // Another request with this key may have been accepted since.
        const key = await findKey(parts, intent)
        if (key !== undefined) return { key, resource: null }
        if (refusal === undefined && tries < RESERVE_TRIES) continue
        const problem = refusal ?? new ProblemError('duplicate-reference')
        throw await errorWithTombstone(parts, intent, problem)
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

async function reopenOrJoin(
  route: KeyedRoute,
  parts: TenantParts,
  found: Found,
): Promise<{ role: Role; accepted: Reservation }> {
  const { key } = found
  if (found.isNew) return { role: 'owner', accepted: found }
  if (key.status !== 'failed_retryable') return { role: 'retry', accepted: found }
  if (await reopen(route, parts, key)) {
    return { role: 'owner', accepted: { ...found, key: { ...key, status: 'pending' } } }
  }
  // Another retry was first: the operation that it reopened is in progress or already idle again.
  return { role: 'retry', accepted: await readAgain(parts, key) }
}

async function readAgain(parts: TenantParts, key: IdempotencyKey): Promise<Reservation> {
  return known((await findKey(parts, key)) ?? key)
}

async function reopen(
  route: KeyedRoute,
  parts: TenantParts,
  key: IdempotencyKey,
  tries = 1,
): Promise<boolean> {
  try {
    return await withinStoreTimeout(parts, reopenOperation(parts, key))
  } catch (cause) {
    if (!(cause instanceof StaleResourceError)) throw cause
    const problem = await explainStale(route, parts, key, cause)
    if (problem === undefined && tries < RESERVE_TRIES) {
      return await reopen(route, parts, key, tries + 1)
    }
    throw (problem ?? new ProblemError('invalid-state', { cause })).withHeaders(expiry(key))
  }
}

/** The owner waits unless it prefers not to. A retry waits only if it prefers to. */
function secondsToWait({ settings }: TenantParts, prefer: Preferences, role: Role): number {
  const defaultSeconds = role === 'retry' || prefer.respondAsync ? 0 : settings.WAIT_SECONDS
  return Math.min(prefer.waitSeconds ?? defaultSeconds, settings.WAIT_MAX_SECONDS)
}

async function waitUntilIdle(
  { parts, request }: KeyedRequest,
  accepted: Reservation,
  waitSeconds: number,
): Promise<Reservation> {
  const { key } = accepted
  const inProgress = key.status === 'pending' || key.status === 'processing'
  if (!inProgress || waitSeconds === 0) return accepted
  const disconnect = new AbortController()
  const abort = () => disconnect.abort()
  request.res?.once('close', abort)
  const idleKey = await parts.keyed.watch.wait(key, waitSeconds * 1_000, disconnect.signal)
  // Every response closes in the end, and an abort is expensive.
  request.res?.off('close', abort)
  return idleKey === undefined ? await readAgain(parts, key) : known(idleKey)
}

/**
 * Undefined when no payment or refund uses the reference any more, so that the request may succeed
 * now.
 */
async function explainRefusedIntent(
  parts: TenantParts,
  { tenantId, refundId, details }: Intent,
  { explainRefusal }: Draft,
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
  { resource: { kind, read } }: KeyedRoute,
  parts: TenantParts,
  key: IdempotencyKey,
  cause: StaleResourceError,
): Promise<ProblemError | undefined> {
  const reading = read(parts.store.sql, { key, resource: null })
  const stale = await withinStoreTimeout(parts, reading)
  const isUnchanged = stale?.status === 'failed' && stale.reference !== null
  if (!isUnchanged) return new ProblemError('invalid-state', { cause })
  return await explainDuplicate(parts, key.tenantId, kind, stale.reference)
}

async function explainDuplicate(
  parts: TenantParts,
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
