// Records one span per request, as part of the client's trace when the headers name one. The span
// has the route instead of the path: a client can put secrets in a path.
import type { NextFunction, Request, Response } from 'express'
import { startServedSpan } from '../../tracing/spans.ts'

export function traceRequest() {
  return (request: Request, response: Response, next: NextFunction): void => {
    const span = startServedSpan(request.method, request.headers)
    if (span === undefined) return next()
    response.once('close', () =>
      span.end(request.route?.path as string | undefined, response.statusCode),
    )
    span.run(next)
  }
}
