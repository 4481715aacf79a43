// Defines the input and the output of an endpoint: a parsed request, and an answer before it is
// serialized.
import type { Request } from 'express'
import { accountOf } from './accounts.ts'
import type { Parameters } from './parameters.ts'
import type { Records } from './storage.ts'
import { invalidApiKey, missingApiKey } from './stripe-errors.ts'

export interface ApiRequest {
  method: string
  path: string
  /** The `:id` of the route; empty for a route without one. */
  objectId: string
  params: Parameters
  /** Whose objects and idempotency keys the request sees, see `accountOf`. */
  account: string
  /** Only for POST: Stripe ignores the idempotency key of any other method. */
  idempotencyKey: string | undefined
  requestId: string
  nowMs: number
}

export interface Answer {
  status: number
  body: object
}

/** An endpoint runs as one transaction. It may throw a StripeError only before its first write. */
export type Endpoint = (request: ApiRequest, records: Records) => Answer

/** @throws StripeError 401 when the request has no valid secret key. */
export function readApiRequest(req: Request, requestId: string, nowMs: number): ApiRequest {
  const isPost = req.method === 'POST'
  return {
    method: req.method,
    path: req.path,
    objectId: String(req.params['id'] ?? ''),
    params: isPost ? ((req.body as Parameters | undefined) ?? {}) : req.query,
    account: readAccount(req.headers.authorization),
    idempotencyKey: isPost ? req.get('idempotency-key') || undefined : undefined,
    requestId,
    nowMs,
  }
}

function readAccount(authorization = ''): string {
  const secretKey = /^Bearer\s+(\S+)$/i.exec(authorization)?.[1]
  if (secretKey === undefined) throw missingApiKey()
  const account = accountOf(secretKey)
  if (account === undefined) throw invalidApiKey()
  return account
}
