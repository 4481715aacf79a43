// Limits how many requests are worked on at a time. Refuses more requests at once, with a
// Retry-After: a growing queue would delay every answer until all clients time out.
import type { IncomingMessage } from 'node:http'
import type { NextFunction, Request, Response } from 'express'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { ANSWERED } from '../responses/answer.ts'
import { createBodyLimit } from './body-limit.ts'

/** Health checks are never refused: a busy process must not look dead to its orchestrator. */
const PROBES: ReadonlySet<string> = new Set(['/healthz', '/readyz'])

/**
 * The sender of a provider event is unknown until the whole event has arrived and its signature is
 * verified. Such requests get one place in ten; the provider retries refused events.
 */
const UNVERIFIED_PATH = '/provider/webhooks'
const PLACES_PER_UNVERIFIED = 10

export interface Places {
  /**
   * Takes a place for the request until it is answered or its client disconnects.
   *
   * @throws ProblemError overloaded.
   */
  take(request: Request, response: Response): void
  /**
   * Reads the rest of a request that is still arriving. The request releases its place meanwhile,
   * because its client determines how long that takes. As many requests may be arriving as there
   * are places. With more, the oldest is refused: its `read` must fail with the reason of the
   * signal.
   *
   * @throws ProblemError overloaded. The caller must not have had any effect before.
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
  state: 'in_use' | 'released' | 'ended'
}

/**
 * @param most how many requests may be worked on. A request that waits for the result of its
 *   operation needs only a little memory and is not counted; a separate limit applies to waiting
 *   requests.
 * @param waiting returns how many requests wait now.
 */
export function createPlaces(most: number, waiting: () => number): Places {
  const mostUnverified = Math.ceil(most / PLACES_PER_UNVERIFIED)
  const readers = { verified: createBodyLimit(most), unverified: createBodyLimit(mostUnverified) }
  const places = new WeakMap<IncomingMessage, Place>()
  const inUse = { all: 0, unverified: 0 }

  const count = ({ isUnverified }: Place, change: 1 | -1): void => {
    inUse.all += change
    if (isUnverified) inUse.unverified += change
  }
  const take = (place: Place): void => {
    const isFull =
      inUse.all - waiting() >= most || (place.isUnverified && inUse.unverified >= mostUnverified)
    if (isFull) throw new ProblemError('overloaded')
    count(place, 1)
    place.state = 'in_use'
  }
  const release = (place: Place, state: 'released' | 'ended'): void => {
    if (place.state === 'in_use') count(place, -1)
    place.state = state
  }
  return {
    take(request, response) {
      const place: Place = { isUnverified: request.path === UNVERIFIED_PATH, state: 'released' }
      take(place)
      places.set(request, place)
      const end = () => {
        response.off(ANSWERED, end).off('close', end)
        release(place, 'ended')
      }
      // Not `finish`: a client that never reads its answer would keep the place forever.
      response.once(ANSWERED, end).once('close', end)
    },
    async whileArriving(request, read) {
      const place = places.get(request)
      if (request.complete || place?.state !== 'in_use') return await read()
      release(place, 'released')
      const value = await readers[place.isUnverified ? 'unverified' : 'verified'](read)
      if (isReleased(place)) take(place)
      return value
    },
  }
}

/** A function, because the compiler does not see that a disconnect may have changed the state. */
function isReleased({ state }: Place): boolean {
  return state === 'released'
}

/** Middleware that takes a place for every request but health checks. */
export function limitConcurrency(places: Places) {
  return (request: Request, response: Response, next: NextFunction): void => {
    if (!PROBES.has(request.path)) places.take(request, response)
    next()
  }
}
