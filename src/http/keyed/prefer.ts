// Parses the Prefer header (RFC 7240): how long the client wants to wait for the final result, and whether
// the body of an answer says what its headers say of the idempotency key.
import type { Request } from 'express'
import { headerLines, type ServiceParts } from '../endpoint.ts'
import type { Answer } from '../responses/answer.ts'

/** What the client prefers. The service decides what it applies. */
export interface Preferences {
  readonly respondAsync: boolean
  /** Undefined when the client states no time. */
  readonly waitSeconds: number | undefined
}

// RFC 9111 section 1.2.2: delta-seconds that are too large to represent count as 2^31.
const SECONDS_MAX = 2 ** 31

// A comma inside quotes does not separate elements. An unclosed quote extends to the end of the
// line.
const LIST_ELEMENT = /(?:"(?:[^"\\]|\\.)*"?|[^,"])+/g

// word [ "=" ( word / quoted-string ) ], then the end or parameters, with optional spaces between.
// A word allows more characters than a token of RFC 9110, because unknown names are ignored anyway.
const PREFERENCE = /^([^\s=;"]+)(?:[ \t]*=[ \t]*(?:([^\s=;"]+)|"((?:[^"\\]|\\.)*)"))?[ \t]*(?:;|$)/

/**
 * Finds the preferences `respond-async` and `wait` (RFC 7240 sections 4.1 and 4.3) in all Prefer
 * header lines. Ignores parameters, unknown preferences and malformed ones. Only the first of
 * repeated preferences counts, even when its value is invalid (section 2).
 */
export function parsePrefer(headerValues: readonly string[]): Preferences {
  const preferences = readPreferences(headerValues)
  return {
    respondAsync: preferences.get('respond-async') === '',
    waitSeconds: readSeconds(preferences.get('wait')),
  }
}

const RETURNED = 'representation-with-idempotency'

/** The preference, as `Preference-Applied` names it. */
export const WITH_IDEMPOTENCY = `return=${RETURNED}`

function readPreferences(headerValues: readonly string[]): ReadonlyMap<string, string> {
  const preferences = new Map<string, string>()
  for (const element of headerValues.flatMap((line) => line.match(LIST_ELEMENT) ?? [])) {
    const [, name, token, quoted] = PREFERENCE.exec(element.trim()) ?? []
    if (name === undefined || preferences.has(name.toLowerCase())) continue
    preferences.set(name.toLowerCase(), token ?? quoted ?? '')
  }
  return preferences
}

function readSeconds(value: string | undefined): number | undefined {
  if (value === undefined || !/^\d+$/.test(value)) return undefined
  return Math.min(Number(value), SECONDS_MAX)
}

/**
 * For clients that prefer it, or for all: agents and many SDKs show their callers no headers. What is stored
 * stays as it is. Returns the answer with a member `idempotency` at the end of its JSON object, if it is about a key
 * that is stored. All bytes before the member are those of the answer without it.
 */
export function addIdempotencyMember(
  { IDEMPOTENCY_MEMBER }: Pick<ServiceParts['settings'], 'IDEMPOTENCY_MEMBER'>,
  request: Request,
  answer: Answer,
): Answer {
  const { headers = {}, body } = answer
  const expires = headers['idempotency-key-expires']
  if (expires === undefined || typeof body !== 'string' || !body.endsWith('}')) return answer
  const isPreferred = readPreferences(headerLines(request, 'prefer')).get('return') === RETURNED
  if (!isPreferred && IDEMPOTENCY_MEMBER === 'preferred') return answer
  const member = JSON.stringify({
    replayed: headers['idempotent-replayed'] !== undefined,
    key_expires_at: new Date(expires).toISOString(),
  })
  const others = body.slice(0, -1)
  const separator = others === '{' ? '' : ','
  const applied = [headers['preference-applied'] ?? [], WITH_IDEMPOTENCY].flat().join(', ')
  return {
    ...answer,
    headers: { ...headers, ...(isPreferred && { 'preference-applied': applied }) },
    body: `${others}${separator}"idempotency":${member}}`,
  }
}
