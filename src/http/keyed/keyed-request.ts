// Reads a keyed POST: the idempotency key and the body. Both are validated before anything is
// written, so that a refused request does not use up its key.
import { createHmac, randomUUIDv7, timingSafeEqual } from 'node:crypto'
import type { Request } from 'express'
import type { IdempotencyKey, KeyName } from '../../db/idempotency/idempotency-keys.ts'
import type { RequestedKey } from '../../db/idempotency/reserve-keys.ts'
import { containsCardNumber, findCardNumber } from '../../domain/payments/card-number.ts'
import { containsSecret } from '../../domain/own-secrets.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { findText } from '../../domain/problems/json-pointer.ts'
import {
  type RequestFingerprints,
  fingerprintRequest,
  type FingerprintedRequest,
  type ValidatedFingerprint,
  retentionOf,
} from '../../domain/idempotency/idempotency-key.ts'
import { readRequestName, type RequestName } from '../../domain/idempotency/repeatability.ts'
import {
  headerLines,
  readBearer,
  withinStoreTimeout,
  type ServiceParts,
  type TenantParts,
} from '../endpoint.ts'
import { parseJsonBody, hasBody, readBody } from '../requests/read-body.ts'
import { isDeepStrictEqual } from 'node:util'
import type { z } from 'zod'

/** A keyed request as it was sent, with its tenant. */
export interface KeyedRequest extends RequestName, SentRequest {
  readonly parts: TenantParts
  readonly request: Request
  readonly tenantId: string
}

/** @throws ProblemError that explains what is wrong with the key or the body. */
export async function readKeyedRequest(
  parts: TenantParts,
  request: Request,
  tenantId: string,
  body: { readonly mayOmit?: boolean },
): Promise<KeyedRequest> {
  const name = readRequestName({
    idempotencyKey: headerLines(request, 'idempotency-key'),
    requestId: headerLines(request, 'repeatability-request-id'),
    firstSent: headerLines(request, 'repeatability-first-sent'),
    clientId: headerLines(request, 'repeatability-client-id'),
  })
  return { parts, request, tenantId, ...(await readNamedRequest(name, parts, request, body)) }
}

/** Reads a request whose key is known. Throws like `readKeyedRequest`. */
export async function readNamedRequest(
  name: RequestName,
  parts: TenantParts,
  request: Request,
  { mayOmit = false }: { readonly mayOmit?: boolean },
): Promise<RequestName & SentRequest> {
  const { settings } = parts
  refuseForbiddenKey(name.key, settings)
  const bytes = await readOptionalBody(parts, request, mayOmit)
  verifyTimestamp(settings, request, bytes ?? NO_BYTES)
  const body = bytes === undefined ? {} : parseJsonBody(bytes)
  refuseForbiddenText(body, settings)
  const { method, path } = request
  return { ...name, method, path, body }
}

/** Reads a JSON body. Where the body may be omitted, a missing one counts as an empty object. */
export async function readJson(
  parts: ServiceParts,
  request: Request,
  mayOmit: boolean,
): Promise<Record<string, unknown>> {
  const bytes = await readOptionalBody(parts, request, mayOmit)
  return bytes === undefined ? {} : parseJsonBody(bytes)
}

const NO_BYTES = new Uint8Array()

/** The tolerance of Stripe's own libraries for webhooks. */
const DEFAULT_MAX_AGE_SECONDS = 300

const TIMESTAMP = /^t=(\d{1,12}),v1=([0-9a-f]{64})$/

/**
 * Verifies the optional Request-Timestamp, so that a request that was delayed on its way is refused
 * instead of executed late. Its signature is the HMAC-SHA-256, in hex, of time, method, path with its
 * query, and body, separated by dots. The secret is the API key that the request carries, because the
 * service stores only its hash. So it proves that the owner of the API key chose the time, and nothing
 * more.
 *
 * @throws ProblemError request-timestamp-missing when the settings require one,
 *   request-timestamp-invalid, or request-too-old, also for a time too far in the future.
 */
function verifyTimestamp(
  { REQUEST_MAX_AGE_SECONDS }: Settings,
  request: Request,
  body: Uint8Array,
): void {
  const lines = headerLines(request, 'request-timestamp')
  if (lines.length === 0 && REQUEST_MAX_AGE_SECONDS === undefined) return
  if (lines.length === 0) throw new ProblemError('request-timestamp-missing')
  const [, time = '', signature = ''] = TIMESTAMP.exec(lines.join()) ?? []
  const unixSeconds = Number(time)
  const expected = createHmac('sha256', readBearer(headerLines(request, 'authorization')) ?? '')
    .update(`${unixSeconds}.${request.method}.${request.originalUrl}.`)
    .update(body)
    .digest()
  const actual = Buffer.from(signature, 'hex')
  if (actual.length !== 32 || !timingSafeEqual(actual, expected)) {
    throw new ProblemError('request-timestamp-invalid')
  }
  const maxAgeSeconds = REQUEST_MAX_AGE_SECONDS ?? DEFAULT_MAX_AGE_SECONDS
  if (Math.abs(Date.now() / 1_000 - unixSeconds) > maxAgeSeconds)
    throw new ProblemError('request-too-old')
}

async function readOptionalBody(
  parts: ServiceParts,
  request: Request,
  mayOmit: boolean,
): Promise<Uint8Array | undefined> {
  return mayOmit && !hasBody(request) ? undefined : await readBody(parts, request)
}

type Settings = ServiceParts['settings']

function refuseForbiddenKey(key: string, settings: Settings): void {
  if (settings.CARD_NUMBER_CHECK === 'everywhere' && containsCardNumber(key)) {
    const detail = 'The idempotency key contains what looks like a card number.'
    throw new ProblemError('card-number-refused', { detail })
  }
  if (!isSecretIn(settings)(key)) return
  throw new ProblemError('secret-refused', { detail: 'The idempotency key contains a secret.' })
}

/** @throws ProblemError card-number-refused or secret-refused, with the place in the body. */
export function refuseForbiddenText(body: Record<string, unknown>, settings: Settings): void {
  const card = findCardNumber(body, settings.CARD_NUMBER_CHECK)
  if (card !== undefined) {
    const detail = 'Contains what looks like a card number.'
    throw new ProblemError('card-number-refused', { errors: [{ pointer: card, detail }] })
  }
  const secret = findText(body, isSecretIn(settings))
  if (secret === undefined) return
  const detail = 'Contains a secret.'
  throw new ProblemError('secret-refused', { errors: [{ pointer: secret, detail }] })
}

function isSecretIn({ ENCRYPTION_KEYS }: Settings): (text: string) => boolean {
  const keys = (ENCRYPTION_KEYS ?? []).map(({ key }) => key)
  return (text) => containsSecret(text, keys)
}

// Computes the fingerprints of a keyed request: of the body as it was sent, and of what it says by the
// schema of its operation. The first alone would refuse a retry that spells a default out, the second
// alone a retry with the same bytes after the schema has changed: docs/decisions/0055-two-fingerprints.md.

type Body = Readonly<Record<string, unknown>>

/** A request whose body has the members that were sent. */
export interface SentRequest extends FingerprintedRequest {
  readonly body: Body
}

/**
 * How a body is reduced to what it says, by version. A rule never changes, because keys that were
 * reserved under it live on: a better one gets the next version, and old processes learn it first.
 * Version 1 has none. Its keys were reserved by processes that knew only what was sent.
 */
const rules: Readonly<Record<number, (schema: z.ZodObject, body: Body) => Body>> = {
  2: leaveOutDefaults,
}

const CURRENT_VERSION = 2

/**
 * Computes the fingerprints of a request. Those of the validated request are computed when they are
 * needed, and only of a body that its schema accepts.
 */
export function fingerprintsOf(schema: z.ZodObject, sent: SentRequest): RequestFingerprints {
  return {
    fingerprint: fingerprintRequest(sent),
    validatedBy(version) {
      const rule = rules[version]
      return rule && fingerprintRequest({ ...sent, body: rule(schema, sent.body) })
    },
  }
}

/** The fingerprint of a validated request for its new key. */
export function currentFingerprint(request: RequestFingerprints): ValidatedFingerprint {
  const fingerprint = request.validatedBy(CURRENT_VERSION)
  if (fingerprint === undefined) throw new Error('the current version has no rule')
  return { version: CURRENT_VERSION, fingerprint }
}

/**
 * Returns the members that say something else than their absence. So a field that a later schema
 * adds with a default changes no fingerprint.
 */
function leaveOutDefaults(schema: z.ZodObject, body: Body): Body {
  const says = ([name, value]: [string, unknown]) =>
    !isDeepStrictEqual(value, schema.shape[name]?.safeParse(undefined).data)
  return Object.fromEntries(Object.entries(schema.parse(body)).filter(says))
}

/** What a request asks to reserve. Its id tells whether it was the one that reserved the key. */
export function requestedKeyOf<const Name extends string>(
  { parts: { settings }, tenantId, key, firstSent }: KeyedRequest,
  operation: Name,
  fingerprints: RequestFingerprints,
): RequestedKey & { readonly operation: Name } {
  return {
    tenantId,
    id: randomUUIDv7(),
    key,
    firstSent,
    fingerprint: fingerprints.fingerprint,
    validated: currentFingerprint(fingerprints),
    operation,
    retentionSeconds: retentionOf(settings, operation),
    expiredKeys: settings.EXPIRED_KEYS,
  }
}

export function findKey(
  parts: TenantParts,
  { tenantId, key }: KeyName,
): Promise<IdempotencyKey | undefined> {
  return withinStoreTimeout(parts, parts.keyed.findKey(parts.store.sql, { tenantId, key }))
}

/**
 * Reserves a key, unless it is new and too short, or its tenant has too many. A retry is never refused:
 * the limits may be newer than its key, and another key would be a second execution.
 *
 * @param reserve gets a function that tells whether the key is reserved already.
 * @throws ProblemError idempotency-key-too-short or too-many-stored-keys.
 */
export async function withinKeyLimits<Value>(
  parts: TenantParts,
  name: KeyName,
  reserve: (isKnown: () => Promise<boolean>) => Promise<Value>,
): Promise<Value> {
  const { KEY_LENGTH_MIN, MAX_STORED_KEYS } = parts.settings
  const { tenantId, key } = name
  const isKnown = async () => (await findKey(parts, name)) !== undefined
  if (key.length < KEY_LENGTH_MIN && !(await isKnown())) {
    const detail = `The Idempotency-Key has less than ${KEY_LENGTH_MIN} characters.`
    throw new ProblemError('idempotency-key-too-short', { detail })
  }
  const tenant = { tenantId, most: MAX_STORED_KEYS }
  return await parts.limits.storedKeys.within(tenant, isKnown, () => reserve(isKnown))
}
