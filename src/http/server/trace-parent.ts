// Reads the id of the trace that a request belongs to.
import type { IncomingMessage } from 'node:http'
import { hidesCardNumber } from '../../domain/payments/card-number.ts'
import { headerLines } from '../endpoint.ts'

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
