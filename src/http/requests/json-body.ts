// Parses a request body as strict JSON. Refuses everything that two parsers could read differently,
// so that a payment means the same to all of them.
import { createScanner } from 'jsonc-parser'
import { ProblemError } from '../../domain/problems/problem-error.ts'

/** Levels of objects and arrays; the top-level object is the first. */
export const NESTING_MAX = 20

/**
 * Parses the bytes of a body: one JSON object (RFC 8259) in UTF-8 without a byte order mark. A
 * member named `__proto__` becomes an own property, like any other.
 *
 * An integer written with a fraction or an exponent becomes NaN, which every schema refuses:
 * `10.00` is more likely to mean ten dollars than ten cents.
 *
 * @throws ProblemError malformed-json, duplicate-member (names are compared unescaped),
 *   nesting-too-deep (more than 20 levels) or forbidden-character (U+0000, a lone surrogate). None
 *   of them quotes the body.
 */
export function parseJsonBody(bytes: Uint8Array): Record<string, unknown> {
  const text = decode(bytes)
  // Comes first because it does not recurse. After it, the nesting is bounded.
  refuseUnsafeTokens(text)
  const body = parse(text)
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new ProblemError('malformed-json', { detail: 'The top level must be an object.' })
  }
  return body as Record<string, unknown>
}

/** `ignoreBOM` leaves a byte order mark in the text, where JSON does not allow it. */
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function decode(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes)
  } catch {
    // The decoder's error says no more than that these bytes are not UTF-8.
    throw new ProblemError('malformed-json', { detail: 'The body is not valid UTF-8.' })
  }
}

/** Matches every text that has a number with a fraction or an exponent; some strings match, too. */
const MAY_HAVE_FRACTION = /\d[.eE]/

function parse(text: string): unknown {
  try {
    // A reviver makes parsing ten times slower.
    if (!MAY_HAVE_FRACTION.test(text)) return JSON.parse(text)
    return JSON.parse(text, keepIntegersOnly as (name: string, value: unknown) => unknown)
  } catch {
    // V8's message is dropped: it quotes the body, which may hold a card number.
    throw new ProblemError('malformed-json')
  }
}

function keepIntegersOnly(_name: string, value: unknown, context: { source?: string }): unknown {
  const isRounded = Number.isInteger(value) && /[.eE]/.test(context.source ?? '')
  return isRounded ? Number.NaN : value
}

/** Scans the tokens once. Whether they form valid JSON is left to `JSON.parse`. */
function refuseUnsafeTokens(text: string): void {
  const scanner = createScanner(text, true)
  const namesByLevel: Set<string>[] = []
  let lastString = ''
  for (scanner.scan(); scanner.getTokenOffset() < text.length; scanner.scan()) {
    // The first character of a token determines its kind.
    switch (text.charAt(scanner.getTokenOffset())) {
      case '"':
        lastString = scanner.getTokenValue()
        refuseForbiddenCharacters(lastString)
        break
      case '{':
      case '[':
        namesByLevel.push(new Set())
        if (namesByLevel.length > NESTING_MAX) throw new ProblemError('nesting-too-deep')
        break
      case '}':
      case ']':
        namesByLevel.pop()
        break
      case ':':
        addMemberName(namesByLevel.at(-1), lastString)
    }
  }
}

function refuseForbiddenCharacters(value: string): void {
  if (value.includes('\0') || !value.isWellFormed()) throw new ProblemError('forbidden-character')
}

function addMemberName(names: Set<string> | undefined, name: string): void {
  if (names?.has(name)) throw new ProblemError('duplicate-member')
  names?.add(name)
}
