// Reads a keyed POST: the key, the preferences and the body, each found good before anything is
// written, so that a request which is refused here does not use up its key.
import { randomUUIDv7 } from 'node:crypto'
import type { Request } from 'express'
import type { Reservation } from '../db/idempotency/idempotency-keys.ts'
import { containsCardNumber, findCardNumber } from '../domain/payments/card-number.ts'
import { ProblemError } from '../domain/problems/problem-error.ts'
import { fingerprintRequest } from '../domain/idempotency/fingerprint.ts'
import { parseIdempotencyKey } from '../domain/idempotency/idempotency-key.ts'
import { headerLines, withinStoreTimeout, type ApiParts } from './endpoint.ts'
import { parseJsonBody } from './json-body.ts'
import { verifyTimestamp } from './limits/request-timestamp.ts'
import { parsePrefer, type Preferences } from './prefer.ts'
import type { KeyedRoute } from './keyed-endpoint.ts'
import { hasBody, readBody } from './read-body.ts'

/** What a body asks of an operation, before it has a key. */
export interface Wish<Input> {
  readonly input: Input
  readonly paymentId: string
  readonly refundId?: string
  /** What no resource holds of what was asked for. */
  readonly parameters?: Readonly<Record<string, unknown>>
}

/** A request to do something once. Nothing has been written for it yet. */
export interface Intent<Input> {
  readonly reservation: Reservation
  readonly input: Input
  readonly prefer: Preferences
}

/** @throws ProblemError saying what is wrong with the request. */
export async function readIntent<Input>(
  route: KeyedRoute<Input>,
  parts: ApiParts,
  request: Request,
  tenantId: string,
): Promise<Intent<Input>> {
  const { key, body, fingerprint } = await readKeyedRequest(route, parts, request)
  const read = route.read(parts, { request, tenantId, body })
  const { input, paymentId, refundId, parameters } = await withinStoreTimeout(parts, read)
  return {
    input,
    prefer: parsePrefer(headerLines(request, 'prefer')),
    reservation: {
      tenantId,
      id: randomUUIDv7(),
      key,
      fingerprint: fingerprint(),
      operation: route.operation.name,
      paymentId,
      refundId: refundId ?? null,
      parameters: parameters ?? {},
      retentionSeconds: parts.settings.KEY_RETENTION_SECONDS,
      expiredKeys: parts.settings.EXPIRED_KEYS,
    },
  }
}

/** What every keyed request has, whatever it asks for. */
export interface KeyedRequest {
  readonly key: string
  /** To be taken of a body that was found good: what is no JSON value has none. */
  readonly fingerprint: () => Buffer
  readonly body: Readonly<Record<string, unknown>>
}

/** @throws ProblemError saying what is wrong with the key or the body. */
export async function readKeyedRequest(
  { mayOmitBody = false }: { readonly mayOmitBody?: boolean },
  parts: ApiParts,
  request: Request,
): Promise<KeyedRequest> {
  const { settings } = parts
  const key = parseIdempotencyKey(headerLines(request, 'idempotency-key'))
  refuseCardNumberInKey(key, settings)
  const bytes = await readOptionalBody(parts, request, mayOmitBody)
  verifyTimestamp(settings, request, bytes ?? NO_BYTES)
  const body = bytes === undefined ? {} : parseJsonBody(bytes)
  refuseCardNumberInBody(body, settings)
  const { method, path } = request
  return { key, body, fingerprint: () => fingerprintRequest({ method, path, body }) }
}

/** A request without a body asks for nothing in particular, where that is allowed. */
export async function readJson(
  parts: ApiParts,
  request: Request,
  mayOmit: boolean,
): Promise<Record<string, unknown>> {
  const bytes = await readOptionalBody(parts, request, mayOmit)
  return bytes === undefined ? {} : parseJsonBody(bytes)
}

const NO_BYTES = new Uint8Array()

async function readOptionalBody(
  parts: ApiParts,
  request: Request,
  mayOmit: boolean,
): Promise<Uint8Array | undefined> {
  return mayOmit && !hasBody(request) ? undefined : await readBody(parts, request)
}

type Settings = ApiParts['settings']

function refuseCardNumberInKey(key: string, settings: Settings): void {
  if (settings.CARD_NUMBER_CHECK !== 'everywhere' || !containsCardNumber(key)) return
  throw new ProblemError('card-number-refused', { detail: 'It is in the Idempotency-Key.' })
}

export function refuseCardNumberInBody(body: Record<string, unknown>, settings: Settings): void {
  const pointer = findCardNumber(body, settings.CARD_NUMBER_CHECK)
  if (pointer === undefined) return
  const detail = 'This place holds what looks like a card number.'
  throw new ProblemError('card-number-refused', { errors: [{ pointer, detail }] })
}
