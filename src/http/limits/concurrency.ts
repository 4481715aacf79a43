// Limits how many requests are worked on at a time, and how many of them one tenant may have. Refuses
// more requests at once, with a Retry-After: a growing queue would delay every answer until all
// clients time out.
import type { IncomingMessage } from 'node:http'
import type { NextFunction, Request, Response } from 'express'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { ANSWERED, GOES_ON } from '../responses/answer.ts'
import { createBodyLimit, shareOf } from './body-limit.ts'
import { createCounts } from '../../domain/tenants/tenant-counts.ts'

/** Health checks are never refused: a busy process must not look dead to its orchestrator. */
const PROBES: ReadonlySet<string> = new Set(['/healthz', '/readyz'])

/**
 * The sender of a provider event is unknown until the whole event has arrived and its signature is
 * verified. Such requests get one place in ten; the provider retries refused events. So do log-ins to
 * the console.
 */
const PLACES_PER_UNVERIFIED = 10

export interface Places {
  /**
   * Takes a place for the request until it is answered or its client disconnects.
   *
   * @param isUnverified whether the sender is unknown until the whole body is read.
   * @throws ProblemError overloaded.
   */
  take(request: Request, response: Response, isUnverified?: boolean): void
  /**
   * Names the tenant of a request that has a place, once it is known.
   *
   * @throws ProblemError too-many-concurrent-requests when the tenant has half of all places.
   */
  assign(request: IncomingMessage, tenantId: string): void
  /**
   * Reads the rest of a request that is still arriving. The request releases its place meanwhile,
   * because its client determines how long that takes. As many requests may be arriving as there
   * are places, those of one tenant in half of them. With more, the oldest is refused: its `read`
   * must fail with the reason of the signal.
   *
   * @throws ProblemError overloaded, or too-many-concurrent-requests. The caller must not have had
   *   any effect before.
   */
  whileArriving<Value>(
    request: IncomingMessage,
    read: (refused?: AbortSignal) => Promise<Value>,
  ): Promise<Value>
}

/**
 * The place of a request: `released` while it arrives, `ended` after the answer or a disconnect.
 */
interface Place {
  readonly isUnverified: boolean
  /** Undefined until the request is authenticated. */
  tenantId: string | undefined
  state: 'in_use' | 'released' | 'ended'
}

/**
 * @param most how many requests may be worked on. A request that waits for the result of its
 *   operation needs only a little memory and is not counted; a separate limit applies to waiting
 *   requests.
 * @param waiting returns how many requests wait now; of one tenant, if it is named.
 */
export function createPlaces(most: number, waiting: (tenantId?: string) => number): Places {
  const mostUnverified = Math.ceil(most / PLACES_PER_UNVERIFIED)
  const readers = { verified: createBodyLimit(most), unverified: createBodyLimit(mostUnverified) }
  const places = new WeakMap<IncomingMessage, Place>()
  const inUse = createCounts()
  let unverified = 0

  const count = ({ isUnverified, tenantId }: Place, change: 1 | -1): void => {
    inUse.add(tenantId, change)
    if (isUnverified) unverified += change
  }
  const refuseIfTenantHasShare = (tenantId: string): void => {
    if (inUse.of(tenantId) - waiting(tenantId) < shareOf(most)) return
    throw new ProblemError('too-many-concurrent-requests')
  }
  const take = (place: Place): void => {
    const isFull =
      inUse.all() - waiting() >= most || (place.isUnverified && unverified >= mostUnverified)
    if (isFull) throw new ProblemError('overloaded')
    if (place.tenantId !== undefined) refuseIfTenantHasShare(place.tenantId)
    count(place, 1)
    place.state = 'in_use'
  }
  const release = (place: Place, state: 'released' | 'ended'): void => {
    if (place.state === 'in_use') count(place, -1)
    place.state = state
  }
  return {
    take(request, response, isUnverified = false) {
      const place: Place = { isUnverified, tenantId: undefined, state: 'released' }
      take(place)
      places.set(request, place)
      const end = () => {
        response.off(ANSWERED, end).off(GOES_ON, end).off('close', end)
        release(place, 'ended')
      }
      // Not `finish`: a client that never reads its answer would keep the place forever.
      response.once(ANSWERED, end).once(GOES_ON, end).once('close', end)
    },
    assign(request, tenantId) {
      const place = places.get(request)
      if (place?.state !== 'in_use') return
      refuseIfTenantHasShare(tenantId)
      count(place, -1)
      place.tenantId = tenantId
      count(place, 1)
    },
    async whileArriving(request, read) {
      const place = places.get(request)
      if (request.complete || place?.state !== 'in_use') return await read()
      release(place, 'released')
      const reader = readers[place.isUnverified ? 'unverified' : 'verified']
      const value = await reader(place.tenantId, read)
      if (isReleased(place)) take(place)
      return value
    },
  }
}

/** A function, because the compiler does not see that a disconnect may have changed the state. */
function isReleased({ state }: Place): boolean {
  return state === 'released'
}

/**
 * Middleware that takes a place for every request but health checks.
 *
 * @param unverifiedPaths the routes whose senders are unknown until the whole body is read.
 */
export function limitConcurrency(places: Places, unverifiedPaths: ReadonlySet<string>) {
  return (request: Request, response: Response, next: NextFunction): void => {
    const { path } = request
    if (!PROBES.has(path)) places.take(request, response, unverifiedPaths.has(path))
    next()
  }
}
