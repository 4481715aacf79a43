// Reads the Prefer header (RFC 7240): how long the client wants to wait for the final result.

/** What the client prefers; the service decides what it grants. */
export interface Preferences {
  readonly respondAsync: boolean
  /** Seconds; undefined when the client names none. */
  readonly waitSeconds: number | undefined
}

// RFC 9111 section 1.2.2: delta-seconds that are too large to represent count as 2^31.
const SECONDS_MAX = 2 ** 31

// Commas inside quotes do not separate; a quote without its end takes in the rest of the line.
const LIST_ELEMENT = /(?:"(?:[^"\\]|\\.)*"?|[^,"])+/g

// word [ "=" ( word / quoted-string ) ], then the end or parameters; spaces are allowed between. A
// word is wider than the token of RFC 9110: which characters an unknown name has does not matter.
const PREFERENCE = /^([^\s=;"]+)(?:[ \t]*=[ \t]*(?:([^\s=;"]+)|"((?:[^"\\]|\\.)*)"))?[ \t]*(?:;|$)/

/**
 * The preferences `respond-async` and `wait` (RFC 7240 sections 4.1 and 4.3) out of the values of
 * all Prefer header lines. Parameters, unknown preferences and malformed ones are ignored; of a
 * repeated one only the first counts, whatever its value (section 2).
 */
export function parsePrefer(headerValues: readonly string[]): Preferences {
  const preferences = new Map<string, string>()
  for (const element of headerValues.flatMap((line) => line.match(LIST_ELEMENT) ?? [])) {
    const [, name, token, quoted] = PREFERENCE.exec(element.trim()) ?? []
    if (name === undefined || preferences.has(name.toLowerCase())) continue
    preferences.set(name.toLowerCase(), token ?? quoted ?? '')
  }
  return {
    respondAsync: preferences.get('respond-async') === '',
    waitSeconds: readSeconds(preferences.get('wait')),
  }
}

function readSeconds(value: string | undefined): number | undefined {
  if (value === undefined || !/^\d+$/.test(value)) return undefined
  return Math.min(Number(value), SECONDS_MAX)
}
