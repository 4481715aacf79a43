// Bounds how many requests are worked on at a time. Beyond that a request is told at once to come again:
// a queue that grows answers everyone late, and nobody in the end.
import type { NextFunction, Request, Response } from 'express'
import { ProblemError } from '../../domain/errors.ts'
import { retryAfter } from '../answer.ts'
import type { ApiParts } from '../endpoint.ts'

/** Whoever looks after the process has to be able to see that it lives, above all when it is busy. */
const PROBES: ReadonlySet<string> = new Set(['/healthz', '/readyz'])

/**
 * Lets as many requests through as the settings say. One that was accepted and waits for its result
 * needs nothing but a little memory, and is not counted: how many may wait is a limit of its own.
 *
 * @throws ProblemError overloaded.
 */
export function limitConcurrency({ settings, watch }: ApiParts) {
  let open = 0
  return (request: Request, response: Response, next: NextFunction): void => {
    if (PROBES.has(request.path)) return next()
    if (open - watch.waiting() >= settings.MAX_CONCURRENT_REQUESTS) {
      throw new ProblemError('overloaded', { headers: retryAfter })
    }
    open += 1
    response.once('close', () => {
      open -= 1
    })
    next()
  }
}
