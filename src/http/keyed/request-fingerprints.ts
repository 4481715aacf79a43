// Computes the fingerprints of a keyed request: of the body as it was sent, and of what it says by the
// schema of its operation. The first alone would refuse a retry that spells a default out, the second
// alone a retry with the same bytes after the schema has changed.
import { isDeepStrictEqual } from 'node:util'
import type { z } from 'zod'
import {
  fingerprintRequest,
  type FingerprintedRequest,
  type RequestFingerprints,
  type ValidatedFingerprint,
} from '../../domain/idempotency/fingerprint.ts'

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
