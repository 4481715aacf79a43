// Authenticates a request by its API key (RFC 6750 section 2.1), and checks the scopes of the key.
import type { Request } from 'express'
import type { AuthenticatedKey } from '../../db/tenants/api-keys.ts'
import { allowsScope, type Scope } from '../../domain/tenants/api-key.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { headerLines, withinStoreTimeout, type ServiceParts, readBearer } from '../endpoint.ts'
import type { Attempt } from '../limits/invalid-keys.ts'
import { retryAfter } from '../responses/answer.ts'

const REALM = 'Bearer realm="atomic-payments"'
export const CHALLENGE = { 'www-authenticate': REALM }

/**
 * Returns the tenant and the scopes of the API key of the request.
 *
 * @throws ProblemError api-key-missing, or api-key-invalid, which is the same for a malformed, an
 *   unknown, an expired and a revoked key; too-many-invalid-keys, before the store is asked.
 */
export async function authenticate(
  parts: ServiceParts,
  request: Request,
): Promise<AuthenticatedKey> {
  const lines = headerLines(request, 'authorization')
  if (lines.length === 0) throw new ProblemError('api-key-missing', { headers: CHALLENGE })
  const apiKey = readBearer(lines) ?? ''
  const cached = parts.apiKeyCache.recall(apiKey)
  return cached ?? (await findApiKey(parts, { address: request.ip ?? '', apiKey }))
}

async function findApiKey(parts: ServiceParts, attempt: Attempt): Promise<AuthenticatedKey> {
  const { invalidKeys, storeBreaker } = parts.limits
  const seconds = invalidKeys.secondsUntilNext(attempt)
  if (seconds !== undefined) {
    throw new ProblemError('too-many-invalid-keys', { headers: retryAfter(seconds) })
  }
  const found = await storeBreaker.reading(() =>
    withinStoreTimeout(parts, parts.apiKeyCache.find(attempt.apiKey)),
  )
  if (found === undefined) {
    invalidKeys.failed(attempt)
    throw new ProblemError('api-key-invalid', { headers: CHALLENGE })
  }
  invalidKeys.worked(attempt)
  return found
}

/**
 * Refuses an API key without the scope. This happens before anything else of the request is read,
 * so the idempotency key stays unused.
 *
 * @throws ProblemError scope-missing, which names the scope (RFC 6750 section 3.1).
 */
export function requireScope({ scopes }: AuthenticatedKey, needed: Scope): void {
  if (allowsScope(scopes, needed)) return
  throw new ProblemError('scope-missing', {
    detail: `This request needs an API key with the scope ${needed}.`,
    headers: insufficientScope(needed),
  })
}

/** The challenge to a request whose key is valid, but not for this request (RFC 6750 section 3.1). */
export function insufficientScope(needed?: Scope): Record<string, string> {
  const scope = needed === undefined ? '' : `, scope="${needed}"`
  return { 'www-authenticate': `${REALM}, error="insufficient_scope"${scope}` }
}
