// Adds the response header of OASIS Repeatable Requests 1.0.
import type { IncomingMessage } from 'node:http'
import type { ProblemType } from '../../domain/problems/problems.ts'
import { headerLines, isRead } from '../endpoint.ts'
import type { Answer } from './answer.ts'

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
