// Reads a request body as strict JSON: what two parsers could understand differently is refused, so
// that a payment means the same wherever it is read.
import { createScanner } from 'jsonc-parser'
import { ProblemError } from '../../domain/problems/problem-error.ts'

/** The top-level object is the first level. */
export const NESTING_MAX = 20

/**
 * Parses the bytes of a body: one JSON object (RFC 8259) in UTF-8 without a byte order mark. A
 * member named `__proto__` becomes an own property, like any other.
 *
 * A number that is written with a fraction or an exponent is never taken for an integer: `10.00` is
 * likelier to mean ten dollars than ten cents, so it becomes NaN, which every schema refuses.
 *
 * @throws ProblemError malformed-json, duplicate-member (names are compared unescaped),
 *   nesting-too-deep (beyond 20 levels) or forbidden-character (U+0000, a lone surrogate). None of
 *   them repeats any part of the body.
 */
export function parseJsonBody(bytes: Uint8Array): Record<string, unknown> {
  const text = decode(bytes)
  // First, because it does not recurse: afterwards the nesting is bounded.
  refuseUnsafeTokens(text)
  const body = parse(text)
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new ProblemError('malformed-json', { detail: 'The top level must be an object.' })
  }
  return body as Record<string, unknown>
}

/** With `ignoreBOM` a byte order mark stays in the text, where JSON does not allow it. */
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function decode(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes)
  } catch {
    // The decoder's error says no more than that these bytes are not UTF-8.
    throw new ProblemError('malformed-json', { detail: 'The body is not valid UTF-8.' })
  }
}

/** Every number with a fraction or an exponent, and here and there a string. */
const MAYBE_NO_INTEGER = /\d[.eE]/

function parse(text: string): unknown {
  try {
    // To be shown how each number is written costs ten times the parsing.
    if (!MAYBE_NO_INTEGER.test(text)) return JSON.parse(text)
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

/** Goes through the tokens once; whether they make up JSON is left to `JSON.parse`. */
function refuseUnsafeTokens(text: string): void {
  const scanner = createScanner(text, true)
  const namesByLevel: Set<string>[] = []
  let lastString = ''
  for (scanner.scan(); scanner.getTokenOffset() < text.length; scanner.scan()) {
    // A token's first character tells its kind.
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
