// The trace that a request belongs to, as its client names it.
import type { IncomingMessage } from 'node:http'
import { headerLines } from '../endpoint.ts'

/** Later versions may say more, after what this one says. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-|$)/
const NOTHING = /^0+$/

/**
 * The trace id of a W3C `traceparent`; undefined for none, and for a malformed one, which is to be ignored.
 *
 * @see https://www.w3.org/TR/trace-context/#traceparent-header
 */
export function traceIdOf(request: IncomingMessage): string | undefined {
  const lines = headerLines(request, 'traceparent')
  const [, traceId = '', parentId = ''] = TRACEPARENT.exec(lines.join()) ?? []
  return traceId === '' || NOTHING.test(traceId) || NOTHING.test(parentId) ? undefined : traceId
}
