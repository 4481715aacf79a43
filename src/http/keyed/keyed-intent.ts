// Reads a keyed POST: the idempotency key, the preferences and the body. All are validated before
// anything is written, so that a refused request does not use up its key.
import { randomUUIDv7 } from 'node:crypto'
import type { Request } from 'express'
import type { Fragment, Sql } from '../../db/connection/client.ts'
import { noResource, type Intent } from '../../db/idempotency/idempotency-keys.ts'
import { containsCardNumber, findCardNumber } from '../../domain/payments/card-number.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { fingerprintRequest } from '../../domain/idempotency/fingerprint.ts'
import { parseIdempotencyKey } from '../../domain/idempotency/idempotency-key.ts'
import { headerLines, withinStoreTimeout, type ApiParts } from '../endpoint.ts'
import { parseJsonBody } from '../requests/json-body.ts'
import { verifyTimestamp } from '../limits/request-timestamp.ts'
import { parsePrefer, type Preferences } from './prefer.ts'
import type { KeyedRoute } from './keyed-endpoint.ts'
import { hasBody, readBody } from '../requests/read-body.ts'

/**
 * What a route derives from a request: the ids and parameters of its operation, and its resource.
 */
export interface IntentDraft {
  readonly paymentId: string
  readonly refundId?: string
  /** The parts of the request that no resource stores. */
  readonly parameters?: Readonly<Record<string, unknown>>
  /**
   * CTEs of the intent statement that create or mark the resource; the last is named `resource` and
   * returns its row. The statement writes an event of that row, and announces it to webhooks, unless
   * `previous_status` equals `status`. So a part that changes no status has to return them equal, or
   * it announces the status of the row a second time.
   */
  readonly resource: (sql: Sql) => Fragment
  /** Explains why `resource` returned no row. Reads the store again, after the statement. */
  readonly explainRefusal: () => Promise<ProblemError>
}

/**
 * The draft, or with a problem one that reserves no key. Use it for rules that may become stricter,
 * for example the amounts that the provider accepts: unlike an error of `readBeforeKey`, the problem
 * is only for new operations. A retry of one that was accepted before still gets its response.
 */
export function refusing(problem: ProblemError | undefined, draft: IntentDraft): IntentDraft {
  if (problem === undefined) return draft
  return { ...draft, resource: noResource, explainRefusal: () => Promise.resolve(problem) }
}

/** A validated request to do something once. Nothing is written for it yet. */
export interface KeyedIntent extends Pick<IntentDraft, 'resource' | 'explainRefusal'> {
  readonly intent: Intent
  readonly prefer: Preferences
}

/** @throws ProblemError that explains what is wrong with the request. */
export async function readIntent(
  route: KeyedRoute,
  parts: ApiParts,
  request: Request,
  tenantId: string,
): Promise<KeyedIntent> {
  const { key, body, fingerprint } = await readKeyedRequest(route.contract.body, parts, request)
  const reading = route.readBeforeKey({ parts, request, tenantId, body })
  const draft = await withinStoreTimeout(parts, reading)
  const { paymentId, refundId = null, parameters = {}, resource, explainRefusal } = draft
  const intent = {
    tenantId,
    id: randomUUIDv7(),
    key,
    fingerprint: fingerprint(),
    operation: route.operation.name,
    paymentId,
    refundId,
    parameters,
    retentionSeconds: parts.settings.KEY_RETENTION_SECONDS,
    expiredKeys: parts.settings.EXPIRED_KEYS,
  }
  const prefer = parsePrefer(headerLines(request, 'prefer'))
  return { intent, prefer, resource, explainRefusal }
}

/** The parts that every keyed request has. */
export interface KeyedRequest {
  readonly key: string
  /** Call it only after the body is validated: a body with NaN has no fingerprint. */
  readonly fingerprint: () => Buffer
  readonly body: Readonly<Record<string, unknown>>
}

/** @throws ProblemError that explains what is wrong with the key or the body. */
export async function readKeyedRequest(
  { mayOmit = false }: { readonly mayOmit?: boolean } = {},
  parts: ApiParts,
  request: Request,
): Promise<KeyedRequest> {
  const { settings } = parts
  const key = parseIdempotencyKey(headerLines(request, 'idempotency-key'))
  refuseCardNumberInKey(key, settings)
  const bytes = await readOptionalBody(parts, request, mayOmit)
  verifyTimestamp(settings, request, bytes ?? NO_BYTES)
  const body = bytes === undefined ? {} : parseJsonBody(bytes)
  refuseCardNumberInBody(body, settings)
  const { method, path } = request
  return { key, body, fingerprint: () => fingerprintRequest({ method, path, body }) }
}

/** Reads a JSON body. Where the body may be omitted, a missing one counts as an empty object. */
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
  const detail = 'The Idempotency-Key contains what looks like a card number.'
  throw new ProblemError('card-number-refused', { detail })
}

export function refuseCardNumberInBody(body: Record<string, unknown>, settings: Settings): void {
  const pointer = findCardNumber(body, settings.CARD_NUMBER_CHECK)
  if (pointer === undefined) return
  const detail = 'Contains what looks like a card number.'
  throw new ProblemError('card-number-refused', { errors: [{ pointer, detail }] })
}
