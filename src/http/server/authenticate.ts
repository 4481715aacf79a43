// Finds the tenant of a request by its API key (RFC 6750 section 2.1), and what the key may be used for.
import type { IncomingMessage } from 'node:http'
import type { AuthenticatedKey } from '../../db/tenants/api-keys.ts'
import { allowsScope, type Scope } from '../../domain/tenants/api-key.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { headerLines, withinStoreTimeout, type ApiParts } from '../endpoint.ts'

const REALM = 'Bearer realm="atomic-payments"'
export const CHALLENGE = { 'www-authenticate': REALM }
const BEARER = /^Bearer +([^ ]+)$/i

/**
 * Whom the API key of the request belongs to.
 *
 * @throws ProblemError api-key-missing, or api-key-invalid, which looks the same for a malformed, an
 *   unknown, an expired and a revoked key.
 */
export async function authenticate(
  parts: ApiParts,
  request: IncomingMessage,
): Promise<AuthenticatedKey> {
  const lines = headerLines(request, 'authorization')
  if (lines.length === 0) throw new ProblemError('api-key-missing', { headers: CHALLENGE })
  const apiKey = readBearer(lines) ?? ''
  const holder = parts.apiKeyCache.recall(apiKey) ?? (await findHolder(parts, apiKey))
  if (holder === undefined) throw new ProblemError('api-key-invalid', { headers: CHALLENGE })
  return holder
}

function findHolder(parts: ApiParts, apiKey: string): Promise<AuthenticatedKey | undefined> {
  return parts.limits.storeBreaker.reading(() =>
    withinStoreTimeout(parts, parts.apiKeyCache.find(apiKey)),
  )
}

/**
 * Refuses a key that may not do this, before anything else of the request is read: no key of an
 * operation is used up.
 *
 * @throws ProblemError scope-missing, which names the scope (RFC 6750 section 3.1).
 */
export function requireScope({ scopes }: AuthenticatedKey, needed: Scope): void {
  if (allowsScope(scopes, needed)) return
  throw new ProblemError('scope-missing', {
    detail: `The scope ${needed} is needed.`,
    headers: { 'www-authenticate': `${REALM}, error="insufficient_scope", scope="${needed}"` },
  })
}

/** The token of the one line that the header has; undefined when it has more, or none of that form. */
export function readBearer(lines: readonly string[]): string | undefined {
  return lines.length === 1 ? BEARER.exec(lines[0] ?? '')?.[1] : undefined
}
