// Authenticates an operator by the operator keys in the settings.
import { hash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { CHALLENGE, readBearer } from '../server/authenticate.ts'
import { headerLines, type ApiParts } from '../endpoint.ts'

/**
 * Returns the name of the operator whose key the request has. It compares the hashes of all keys,
 * so that the response time reveals nothing about a key.
 *
 * @throws ProblemError operator-key-invalid, which is the same for a missing, a malformed and an
 *   unknown key.
 */
export function authenticateOperator({ settings }: ApiParts, request: IncomingMessage): string {
  const requestHash = hashKey(readBearer(headerLines(request, 'authorization')) ?? '')
  let operator: string | undefined
  for (const { name, key } of settings.ADMIN_API_KEY ?? []) {
    if (timingSafeEqual(hashKey(key), requestHash)) operator = name
  }
  if (operator !== undefined) return operator
  throw new ProblemError('operator-key-invalid', { headers: CHALLENGE })
}

function hashKey(key: string): Buffer {
  return hash('sha256', key, 'buffer')
}
