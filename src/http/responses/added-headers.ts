// The response headers that depend on the request: those of the flavour that the settings select, and that
// of OASIS Repeatable Requests 1.0.
import type { IncomingMessage } from 'node:http'
import type { Flavor } from '../../domain/problems/flavor.ts'
import type { ProblemType } from '../../domain/problems/problems.ts'
import { headerLines, isRead } from '../endpoint.ts'
import type { Answer } from './answer.ts'

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

/**
 * Says whether the key is reserved for this request (`accepted`), so that the state of the service
 * shows one execution, or this request executed nothing (`rejected`). A server error says neither:
 * the key may have been reserved.
 */
export function repeatabilityResult(
  request: IncomingMessage,
  { status, headers = {} }: Answer,
  problem?: ProblemType,
): Record<string, string> {
  if (isRead(request) || headerLines(request, 'repeatability-request-id').length === 0) return {}
  // Only answers to a reserved key have its expiry. It may be reserved for another request.
  const isReserved = headers['idempotency-key-expires'] !== undefined
  if (isReserved && problem !== 'idempotency-key-reused') {
    return { 'repeatability-result': 'accepted' }
  }
  return status < 500 ? { 'repeatability-result': 'rejected' } : {}
}
