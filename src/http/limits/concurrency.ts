// Bounds how many requests are worked on at a time. Beyond that a request is told at once to come again:
// a queue that grows answers everyone late, and nobody in the end.
import type { IncomingMessage } from 'node:http'
import type { NextFunction, Request, Response } from 'express'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { ANSWERED } from '../responses/answer.ts'
import type { ApiParts } from '../endpoint.ts'
import { createBodyLimit } from './body-limit.ts'

/** Whoever looks after the process has to be able to see that it lives, above all when it is busy. */
const PROBES: ReadonlySet<string> = new Set(['/healthz', '/readyz'])

/**
 * Who sends an event of the provider is known when all of it has arrived: until then it may be anyone.
 * Strangers have one place in ten; the provider comes again.
 */
const OF_STRANGERS = '/provider/webhooks'
const PLACES_PER_STRANGER = 10

export interface Places {
  /**
   * Takes a place for the request, until it is answered, or its client is gone.
   *
   * @throws ProblemError overloaded.
   */
  take(request: Request, response: Response): void
  /**
   * Reads what has not arrived yet of a request, which gives its place back meanwhile: how slow it is, is
   * up to its client. As many may be arriving as there are places; then the one that has been longest
   * is refused: its reading is to fail with the signal's reason.
   *
   * @throws ProblemError overloaded; then nothing may have been done yet.
   */
  whileArriving<Value>(
    request: IncomingMessage,
    read: (refused?: AbortSignal) => Promise<Value>,
  ): Promise<Value>
}

/** Of a request: `given_back` while it arrives, `left` when it is answered or its client gone. */
interface Place {
  readonly isOfStranger: boolean
  state: 'held' | 'given_back' | 'left'
}

/**
 * @param most how many requests may be worked on. One that was accepted and waits for its result needs
 *   nothing but a little memory, and is not counted: how many may wait is a limit of its own.
 * @param waiting how many of them wait now.
 */
export function createPlaces(most: number, waiting: () => number): Places {
  const mostOfStrangers = Math.ceil(most / PLACES_PER_STRANGER)
  const arrive = { tenants: createBodyLimit(most), strangers: createBodyLimit(mostOfStrangers) }
  const places = new WeakMap<IncomingMessage, Place>()
  const open = { all: 0, ofStrangers: 0 }

  const count = ({ isOfStranger }: Place, change: 1 | -1): void => {
    open.all += change
    if (isOfStranger) open.ofStrangers += change
  }
  const hold = (place: Place): void => {
    const isFull =
      open.all - waiting() >= most || (place.isOfStranger && open.ofStrangers >= mostOfStrangers)
    if (isFull) throw new ProblemError('overloaded')
    count(place, 1)
    place.state = 'held'
  }
  const giveBack = (place: Place, state: 'given_back' | 'left'): void => {
    if (place.state === 'held') count(place, -1)
    place.state = state
  }
  return {
    take(request, response) {
      const place: Place = { isOfStranger: request.path === OF_STRANGERS, state: 'given_back' }
      hold(place)
      places.set(request, place)
      const leave = () => {
        response.off(ANSWERED, leave).off('close', leave)
        giveBack(place, 'left')
      }
      // A client that never reads its answer would keep the place for ever.
      response.once(ANSWERED, leave).once('close', leave)
    },
    async whileArriving(request, read) {
      const place = places.get(request)
      if (request.complete || place?.state !== 'held') return await read()
      giveBack(place, 'given_back')
      const value = await arrive[place.isOfStranger ? 'strangers' : 'tenants'](read)
      if (isGivenBack(place)) hold(place)
      return value
    },
  }
}

/** Its client may be gone meanwhile, which the compiler cannot see. */
function isGivenBack({ state }: Place): boolean {
  return state === 'given_back'
}

/** Lets as many requests through as there are places. */
export function limitConcurrency({ limits }: Pick<ApiParts, 'limits'>) {
  return (request: Request, response: Response, next: NextFunction): void => {
    if (!PROBES.has(request.path)) limits.places.take(request, response)
    next()
  }
}
