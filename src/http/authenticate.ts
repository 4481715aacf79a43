// Finds the tenant of a request by its API key (RFC 6750 section 2.1).
import type { IncomingMessage } from 'node:http'
import type { Store } from '../db/client.ts'
import { findTenantByApiKey } from '../db/tenants.ts'
import { ProblemError } from '../domain/errors.ts'
import { headerLines } from './endpoint.ts'

export const CHALLENGE = { 'www-authenticate': 'Bearer realm="atomic-payments"' }
const BEARER = /^Bearer +([^ ]+)$/i

/**
 * The id of the tenant whose API key the request carries.
 *
 * @throws ProblemError api-key-missing, or api-key-invalid, which looks the same for a malformed, an
 *   unknown and a revoked key.
 */
export async function authenticate(store: Store, request: IncomingMessage): Promise<string> {
  const lines = headerLines(request, 'authorization')
  if (lines.length === 0) throw new ProblemError('api-key-missing', { headers: CHALLENGE })
  const apiKey = readBearer(lines)
  const tenantId = await findTenantByApiKey(store, apiKey ?? '')
  if (tenantId === undefined) throw new ProblemError('api-key-invalid', { headers: CHALLENGE })
  return tenantId
}

/** The token of the one line that the header has; undefined when it has more, or none of that form. */
export function readBearer(lines: readonly string[]): string | undefined {
  return lines.length === 1 ? BEARER.exec(lines[0] ?? '')?.[1] : undefined
}
