// The headers by which an answer speaks the flavour that the settings name.
import type { IncomingMessage } from 'node:http'
import type { Flavor } from '../../domain/problems/flavor.ts'
import type { Answer } from './answer.ts'
import { headerLines } from '../endpoint.ts'

/** What the SDKs of Stripe read of an answer beside what every flavour sends. */
export function flavorHeaders(
  flavor: Flavor,
  request: IncomingMessage,
  answer: Answer,
): Record<string, string> {
  if (flavor === 'ietf') return {}
  // Only the answers to a key that was reserved say when it expires.
  const isReserved = answer.headers?.['idempotency-key-expires'] !== undefined
  const [key = ''] = isReserved ? headerLines(request, 'idempotency-key') : []
  return {
    ...retryAdvice(flavor, answer),
    ...(key === '' ? {} : { 'idempotency-key': key }),
  }
}

/**
 * Whether the answer is worth a retry. The SDKs of Stripe retry when they are told to, whatever the
 * status, and so are told so of errors alone.
 */
export function retryAdvice(
  flavor: Flavor,
  { status, headers = {} }: Answer,
): Record<string, string> {
  if (flavor === 'ietf') return {}
  return { 'stripe-should-retry': String(status >= 400 && headers['retry-after'] !== undefined) }
}
