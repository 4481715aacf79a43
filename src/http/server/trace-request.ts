// Records one span per request, as part of the client's trace when `traceparent` names one. The span
// has the route instead of the path: a client can put secrets in a path.
import type { NextFunction, Request, Response } from 'express'
import { startServedSpan } from '../../tracing/spans.ts'
import { traceIdOf } from './trace-parent.ts'

export function traceRequest() {
  return (request: Request, response: Response, next: NextFunction): void => {
    const isPart = traceIdOf(request) !== undefined
    const span = startServedSpan(request.method, isPart ? request.headers : {})
    if (span === undefined) return next()
    response.once('close', () =>
      span.end(request.route?.path as string | undefined, response.statusCode),
    )
    span.run(next)
  }
}
