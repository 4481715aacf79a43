// Authenticates a request by its API key (RFC 6750 section 2.1), and checks the scopes of the key.
import type { IncomingMessage } from 'node:http'
import type { AuthenticatedKey } from '../../db/tenants/api-keys.ts'
import { allowsScope, type Scope } from '../../domain/tenants/api-key.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { headerLines, withinStoreTimeout, type ApiParts } from '../endpoint.ts'

const REALM = 'Bearer realm="atomic-payments"'
export const CHALLENGE = { 'www-authenticate': REALM }
const BEARER = /^Bearer +([^ ]+)$/i

/**
 * Returns the tenant and the scopes of the API key of the request.
 *
 * @throws ProblemError api-key-missing, or api-key-invalid, which is the same for a malformed, an
 *   unknown, an expired and a revoked key.
 */
export async function authenticate(
  parts: ApiParts,
  request: IncomingMessage,
): Promise<AuthenticatedKey> {
  const lines = headerLines(request, 'authorization')
  if (lines.length === 0) throw new ProblemError('api-key-missing', { headers: CHALLENGE })
  const apiKey = readBearer(lines) ?? ''
  const authenticated = parts.apiKeyCache.recall(apiKey) ?? (await findApiKey(parts, apiKey))
  if (authenticated === undefined) throw new ProblemError('api-key-invalid', { headers: CHALLENGE })
  return authenticated
}

function findApiKey(parts: ApiParts, apiKey: string): Promise<AuthenticatedKey | undefined> {
  return parts.limits.storeBreaker.reading(() =>
    withinStoreTimeout(parts, parts.apiKeyCache.find(apiKey)),
  )
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
    headers: { 'www-authenticate': `${REALM}, error="insufficient_scope", scope="${needed}"` },
  })
}

/** Returns the bearer token; undefined when the header is repeated or has another form. */
export function readBearer(lines: readonly string[]): string | undefined {
  return lines.length === 1 ? BEARER.exec(lines[0] ?? '')?.[1] : undefined
}
