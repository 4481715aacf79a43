// Adds the response headers of the flavor that the settings select.
import type { IncomingMessage } from 'node:http'
import type { Flavor } from '../../domain/problems/flavor.ts'
import type { Answer } from './answer.ts'
import { headerLines } from '../endpoint.ts'

/** Returns the headers of one flavor, beyond those of every flavor. */
export function flavorHeaders(
  flavor: Flavor,
  request: IncomingMessage,
  answer: Answer,
): Record<string, string> {
  if (flavor === 'ietf') return {}
  // Only answers to a reserved key have its expiry.
  const isReserved = answer.headers?.['idempotency-key-expires'] !== undefined
  const [key = ''] = isReserved ? headerLines(request, 'idempotency-key') : []
  return {
    ...retryAdvice(flavor, answer),
    ...(key === '' ? {} : { 'idempotency-key': key }),
  }
}

/**
 * Says whether to retry. The SDKs of Stripe follow this header for every status, so only errors may
 * say `true`.
 */
export function retryAdvice(
  flavor: Flavor,
  { status, headers = {} }: Answer,
): Record<string, string> {
  if (flavor !== 'stripe') return {}
  return { 'stripe-should-retry': String(status >= 400 && headers['retry-after'] !== undefined) }
}
