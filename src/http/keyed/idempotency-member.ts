// Adds to the body of an answer what its headers say of the idempotency key, for clients that prefer
// it, or for all: agents and many SDKs show their callers no headers. What is stored stays as it is.
import type { Request } from 'express'
import { headerLines, type ApiParts } from '../endpoint.ts'
import type { Answer } from '../responses/answer.ts'
import { prefersIdempotencyMember, WITH_IDEMPOTENCY } from './prefer.ts'

/**
 * Returns the answer with a member `idempotency` at the end of its JSON object, if it is about a key
 * that is stored. All bytes before the member are those of the answer without it.
 */
export function addIdempotencyMember(
  { IDEMPOTENCY_MEMBER }: Pick<ApiParts['settings'], 'IDEMPOTENCY_MEMBER'>,
  request: Request,
  answer: Answer,
): Answer {
  const { headers = {}, body } = answer
  const expires = headers['idempotency-key-expires']
  if (expires === undefined || typeof body !== 'string' || !body.endsWith('}')) return answer
  const isPreferred = prefersIdempotencyMember(headerLines(request, 'prefer'))
  if (!isPreferred && IDEMPOTENCY_MEMBER === 'preferred') return answer
  const member = JSON.stringify({
    replayed: headers['idempotent-replayed'] !== undefined,
    key_expires_at: new Date(expires).toISOString(),
  })
  const others = body.slice(0, -1)
  const separator = others === '{' ? '' : ','
  const applied = [headers['preference-applied'] ?? [], WITH_IDEMPOTENCY].flat().join(', ')
  return {
    ...answer,
    headers: { ...headers, ...(isPreferred && { 'preference-applied': applied }) },
    body: `${others}${separator}"idempotency":${member}}`,
  }
}
