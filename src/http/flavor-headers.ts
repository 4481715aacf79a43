// The headers by which an answer speaks the flavour that the settings name.
import type { IncomingMessage } from 'node:http'
import type { Flavor } from '../domain/flavor.ts'
import type { Answer } from './answer.ts'
import { headerLines } from './endpoint.ts'

/**
 * What the SDKs of Stripe read of an answer beside what every flavour sends. They retry when they are
 * told to, whatever the status, and so are told so of errors alone.
 */
export function flavorHeaders(
  flavor: Flavor,
  request: IncomingMessage,
  { status, headers = {} }: Answer,
): Record<string, string> {
  if (flavor === 'ietf') return {}
  const isWorthARetry = status >= 400 && headers['retry-after'] !== undefined
  // Only the answers to a key that was reserved say when it expires.
  const isReserved = headers['idempotency-key-expires'] !== undefined
  const [key = ''] = isReserved ? headerLines(request, 'idempotency-key') : []
  return {
    'stripe-should-retry': String(isWorthARetry),
    ...(key === '' ? {} : { 'idempotency-key': key }),
  }
}
