// Bounds how many requests are worked on at a time. Beyond that a request is told at once to come again:
// a queue that grows answers everyone late, and nobody in the end.
import type { NextFunction, Request, Response } from 'express'
import { ProblemError } from '../../domain/errors.ts'
import { ANSWERED, retryAfter } from '../answer.ts'
import type { ApiParts } from '../endpoint.ts'

/** Whoever looks after the process has to be able to see that it lives, above all when it is busy. */
const PROBES: ReadonlySet<string> = new Set(['/healthz', '/readyz'])

/**
 * Who sends an event of the provider is known when all of it has arrived: until then it may be anyone,
 * and as slow as they like. Strangers have one place in ten; the provider comes again.
 */
const OF_STRANGERS = '/provider/webhooks'
const PLACES_PER_STRANGER = 10

/**
 * Lets as many requests through as the settings say. One that was accepted and waits for its result
 * needs nothing but a little memory, and is not counted: how many may wait is a limit of its own.
 *
 * @throws ProblemError overloaded.
 */
export function limitConcurrency({ settings, watch }: ApiParts) {
  const most = settings.MAX_CONCURRENT_REQUESTS
  const mostOfStrangers = Math.ceil(most / PLACES_PER_STRANGER)
  let open = 0
  let ofStrangers = 0
  return (request: Request, response: Response, next: NextFunction): void => {
    if (PROBES.has(request.path)) return next()
    const isStranger = request.path === OF_STRANGERS
    const isFull = open - watch.waiting() >= most || (isStranger && ofStrangers >= mostOfStrangers)
    if (isFull) throw new ProblemError('overloaded', { headers: retryAfter })
    open += 1
    ofStrangers += Number(isStranger)
    const leave = () => {
      response.off(ANSWERED, leave).off('close', leave)
      open -= 1
      ofStrangers -= Number(isStranger)
    }
    // A client that never reads its answer would keep the place for ever.
    response.once(ANSWERED, leave).once('close', leave)
    next()
  }
}
