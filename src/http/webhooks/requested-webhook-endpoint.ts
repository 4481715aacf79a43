// The webhook endpoint that a path names, for every route below /v1/webhook-endpoints/:id.
import type { Request } from 'express'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { parseEndpointId } from '../../domain/webhooks/webhook-endpoint.ts'

/** @throws ProblemError resource-not-found for what is no id of an endpoint. */
export function requestedEndpointId(request: Request): string {
  return parseEndpointId(String(request.params['id'])) ?? endpointNotFound()
}

/** The same for an id that is malformed, that does not exist and that is another tenant's. */
export function endpointNotFound(): never {
  throw new ProblemError('resource-not-found')
}
