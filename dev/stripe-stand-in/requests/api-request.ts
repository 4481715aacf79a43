// Parses a request into what an endpoint gets.
import type { Request } from 'express'
import { accountOf, connectedAccountOf, mayUse } from '../accounts/accounts.ts'
import type { Parameters } from './parameters.ts'
import {
  invalidApiKey,
  keyOfWrongLength,
  missingApiKey,
  permissionMissing,
  unknownVersion,
} from './stripe-errors.ts'

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

/**
 * @throws StripeError 401 when the request has no valid secret key, 403 when the key may not, 400 for
 * an idempotency key of a wrong length.
 */
export function readApiRequest(req: Request, requestId: string, nowMs: number): ApiRequest {
  const isPost = req.method === 'POST'
  const account = readAccount(req)
  refuseVersion(req.get('stripe-version'))
  return {
    method: req.method,
    path: req.path,
    objectId: String(req.params['id'] ?? ''),
    params: isPost ? ((req.body as Parameters | undefined) ?? {}) : req.query,
    account,
    idempotencyKey: isPost ? readKey(req) : undefined,
    requestId,
    nowMs,
  }
}

const KEY_LENGTH_MAX = 255

function readKey(req: Request): string | undefined {
  const key = req.get('idempotency-key')
  if (key === undefined || (key !== '' && key.length <= KEY_LENGTH_MAX)) return key
  throw keyOfWrongLength(key.length)
}

/** As a bearer token, or as the user of basic authentication: https://docs.stripe.com/api/authentication */
function readSecretKey(authorization: string): string | undefined {
  const [, scheme = '', credentials = ''] = /^(\w+)\s+(\S+)$/.exec(authorization) ?? []
  if (scheme.toLowerCase() === 'bearer') return credentials
  if (scheme.toLowerCase() !== 'basic') return undefined
  return Buffer.from(credentials, 'base64').toString().split(':')[0] || undefined
}

/** Versions of the same release train, from that one on which removed `payment_method_types`. */
function refuseVersion(version: string | undefined): void {
  if (version === undefined) return
  const [, date = ''] = /^(\d{4}-\d{2}-\d{2})\.endive$/.exec(version) ?? []
  if (date < '2026-09-30') throw unknownVersion()
}

function readAccount(req: Request): string {
  const secretKey = readSecretKey(req.headers.authorization ?? '')
  if (secretKey === undefined) throw missingApiKey()
  const account = accountOf(secretKey)
  if (account === undefined) throw invalidApiKey()
  const [, , resource = ''] = req.path.split('/')
  if (!mayUse(secretKey, resource)) throw permissionMissing(account, resource)
  return connectedAccountOf(account, req.get('stripe-account'))
}
