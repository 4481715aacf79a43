// Finds the operator of a request by the key that the settings hold.
import { hash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { CHALLENGE, readBearer } from '../server/authenticate.ts'
import { headerLines, type ApiParts } from '../endpoint.ts'

/**
 * The name of the operator whose key the request carries. Each key is compared, and by its hash, so that
 * the time tells nothing of any.
 *
 * @throws ProblemError operator-key-invalid, the same for a missing, a malformed and an unknown key.
 */
export function authenticateOperator({ settings }: ApiParts, request: IncomingMessage): string {
  const sent = hashKey(readBearer(headerLines(request, 'authorization')) ?? '')
  let operator: string | undefined
  for (const { name, key } of settings.ADMIN_API_KEY ?? []) {
    if (timingSafeEqual(hashKey(key), sent)) operator = name
  }
  if (operator !== undefined) return operator
  throw new ProblemError('operator-key-invalid', { headers: CHALLENGE })
}

function hashKey(key: string): Buffer {
  return hash('sha256', key, 'buffer')
}
