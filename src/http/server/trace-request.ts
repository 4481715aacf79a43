// Records one span per request, as part of the client's trace when `traceparent` names one. The span
// has the route instead of the path: a client can put secrets in a path.
import type { IncomingMessage } from 'node:http'
import { hidesCardNumber } from '../../domain/payments/card-number.ts'
import { headerLines } from '../endpoint.ts'
import type { NextFunction, Request, Response } from 'express'
import { startServedSpan } from '../../tracing/spans.ts'

/** Versions after 00 may have more fields at the end. */
const TRACEPARENT = /^(?!ff)(?!00.{54})[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-|$)/
const NOTHING = /^0+$/

/**
 * Returns the trace id of a W3C `traceparent` header; undefined when it is missing or malformed, and
 * when its digits contain a card number: the id is logged. The specification requires malformed ones
 * to be ignored.
 *
 * @see https://www.w3.org/TR/trace-context/#traceparent-header
 */
export function traceIdOf(request: IncomingMessage): string | undefined {
  const lines = headerLines(request, 'traceparent')
  const [, traceId = '', parentId = ''] = TRACEPARENT.exec(lines.join()) ?? []
  if (traceId === '' || NOTHING.test(traceId) || NOTHING.test(parentId)) return undefined
  const runs = traceId.match(/\d+/g) ?? []
  return runs.some(hidesCardNumber) ? undefined : traceId
}

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
