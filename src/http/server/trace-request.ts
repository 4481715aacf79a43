// One span for each request, a part of its client's trace when its headers name one. Names the route, not
// the path: a path may hold what a client put there.
import type { NextFunction, Request, Response } from 'express'
import { startServedSpan } from '../../tracing/spans.ts'

export function traceRequest() {
  return (request: Request, response: Response, next: NextFunction): void => {
    const span = startServedSpan(request.method, request.headers)
    response.once('close', () =>
      span.end(request.route?.path as string | undefined, response.statusCode),
    )
    span.run(next)
  }
}
