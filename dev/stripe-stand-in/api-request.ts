// What an endpoint of the provider's API gets and gives: a request reduced to what counts, and the
// answer before it is put on the wire.
import { hash } from 'node:crypto'
import type { Request } from 'express'
import type { Parameters } from './parameters.ts'
import type { Records } from './storage.ts'
import { invalidApiKey, missingApiKey } from './stripe-errors.ts'

export interface ApiRequest {
  method: string
  path: string
  /** The `:id` of the route, empty where it has none. */
  objectId: string
  params: Parameters
  /** Stands for the secret key, which is itself never kept. */
  account: string
  /** Only of a POST: Stripe ignores the key of any other method. */
  idempotencyKey: string | undefined
  requestId: string
  nowMs: number
}

export interface Answer {
  status: number
  body: object
}

/** One endpoint, run as one transaction. It throws a StripeError before it writes, or never. */
export type Endpoint = (request: ApiRequest, records: Records) => Answer

/** @throws StripeError 401 when the request has no secret key. */
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
  if (!/^[sr]k_/.test(secretKey)) throw invalidApiKey()
  return hash('sha256', secretKey)
}
