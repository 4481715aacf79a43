// Verifies the optional Request-Timestamp of a keyed request. It proves when the request was made,
// so that a request that was delayed on its way is refused instead of executed late.
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Request } from 'express'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { headerLines, type ServiceParts, readBearer } from '../endpoint.ts'

/** The tolerance of Stripe's own libraries for webhooks. */
const DEFAULT_MAX_AGE_SECONDS = 300

const TIMESTAMP = /^t=(\d{1,12}),v1=([0-9a-f]{64})$/

/**
 * Signs a request: HMAC-SHA-256, in hex, of time, method, path with its query, and body, separated
 * by dots. The secret is the API key that the request carries, because the service stores only its
 * hash. The signature therefore proves that the owner of the API key chose the time, and nothing
 * more.
 */
function signRequest(
  apiKey: string,
  signed: { unixSeconds: number; method: string; path: string; body: Uint8Array },
): string {
  return createHmac('sha256', apiKey)
    .update(`${signed.unixSeconds}.${signed.method}.${signed.path}.`)
    .update(signed.body)
    .digest('hex')
}

/**
 * @throws ProblemError request-timestamp-missing when the settings require one,
 *   request-timestamp-invalid, or request-too-old, also for a time too far in the future.
 */
export function verifyTimestamp(
  { REQUEST_MAX_AGE_SECONDS }: ServiceParts['settings'],
  request: Request,
  body: Uint8Array,
): void {
  const lines = headerLines(request, 'request-timestamp')
  if (lines.length === 0 && REQUEST_MAX_AGE_SECONDS === undefined) return
  if (lines.length === 0) throw new ProblemError('request-timestamp-missing')
  const [, time = '', signature = ''] = TIMESTAMP.exec(lines.join()) ?? []
  const unixSeconds = Number(time)
  const { method, originalUrl: path } = request
  const apiKey = readBearer(headerLines(request, 'authorization')) ?? ''
  const expected = signRequest(apiKey, { unixSeconds, method, path, body })
  const actual = Buffer.from(signature, 'hex')
  if (actual.length !== 32 || !timingSafeEqual(actual, Buffer.from(expected, 'hex'))) {
    throw new ProblemError('request-timestamp-invalid')
  }
  const maxAgeSeconds = REQUEST_MAX_AGE_SECONDS ?? DEFAULT_MAX_AGE_SECONDS
  if (Math.abs(Date.now() / 1_000 - unixSeconds) > maxAgeSeconds)
    throw new ProblemError('request-too-old')
}
