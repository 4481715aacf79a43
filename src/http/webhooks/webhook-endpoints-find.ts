// Parses the id of the webhook endpoint in a path below /v1/webhook-endpoints/:id.
import type { Request } from 'express'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { parseEndpointId } from '../../domain/webhooks/webhook-endpoint.ts'

/** @throws ProblemError resource-not-found when it is not an id of a webhook endpoint. */
export function requestedEndpointId(request: Request): string {
  return parseEndpointId(String(request.params['id'])) ?? endpointNotFound()
}

/**
 * The answer is the same for a malformed id, an unknown id and the id of another tenant's endpoint.
 */
export function endpointNotFound(): never {
  throw new ProblemError('resource-not-found')
}
