// Draws bodies that are not a JSON object, or that the service's strict JSON parser refuses.
import * as fc from 'fast-check'
import type { ProblemType } from '../../../src/domain/problems/problems.ts'
import { utf8 } from '../draft.ts'
import { anyJson, anyText, letters } from '../values.ts'
import { type Defect, defectChange, withBody } from './fields.ts'

const JSON_TYPES: readonly ProblemType[] = [
  'malformed-json',
  'duplicate-member',
  'nesting-too-deep',
  'forbidden-character',
]

/** Provider events have other rules, and their signature covers text. */
const EVENT_TYPES: readonly ProblemType[] = ['webhook-malformed', 'webhook-signature-invalid']

type TextChange = (good: string) => fc.Arbitrary<string>

/** A defect that changes the text of a good body. */
function textDefect(kind: string, types: readonly ProblemType[], make: TextChange): Defect {
  return {
    kind,
    forOperation({ access, body }) {
      const texts = body?.good.map((good) => make(utf8(JSON.stringify(good))))
      const own = access === 'open' ? EVENT_TYPES : types
      return texts && fc.oneof(...texts).map((text) => defectChange(own, withBody(text)))
    },
  }
}

/** The same, for operations with the strict JSON parser. */
function strictTextDefect(kind: string, type: ProblemType, make: TextChange): Defect {
  const { forOperation } = textDefect(kind, [type], make)
  return { kind, forOperation: (one) => (one.access === 'open' ? undefined : forOperation(one)) }
}

/** Inserts a member at the start of the object. */
function withMember(good: string, member: string): string {
  return good === '{}' ? `{${member}}` : `{${member},${good.slice(1)}`
}

function isObject(text: string): boolean {
  try {
    const value = JSON.parse(Buffer.from(text, 'latin1').toString()) as unknown
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}

const levels = fc.oneof(fc.integer({ min: 20, max: 60 }), fc.integer({ min: 60, max: 5_000 }))
const arrays = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
const objects = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`

const BROKEN_UTF8 = [
  '\u00FF',
  '\u00C0\u00AF',
  '\u00ED\u00A0\u0080',
  '\u00E2\u0082',
  '\u0080',
  '\u00F4\u0090\u0080\u0080',
]
const FORBIDDEN = ['\\u0000', '\\ud800', '\\udfff', '\\udc00\\ud800']

export const jsonDefects: readonly Defect[] = [
  textDefect('cut short', ['malformed-json'], (good) =>
    fc.integer({ min: 1, max: good.length - 1 }).map((length) => good.slice(0, length)),
  ),
  textDefect('text after the object', ['malformed-json'], (good) =>
    fc
      .constantFrom(',', '}', ']', ':', 'x', '{}', '//', '\0', '\u00A0', good)
      .map((text) => good + text),
  ),
  textDefect('text before the object', ['malformed-json'], (good) =>
    fc
      .constantFrom(',', '[', ':', 'x', '//', '\0', utf8('\uFEFF'), utf8('\u00A0'))
      .map((text) => text + good),
  ),
  textDefect(
    'not an object',
    ['malformed-json', 'forbidden-character', 'nesting-too-deep', 'duplicate-member'],
    () =>
      anyJson
        .filter((value) => typeof value !== 'object' || value === null || Array.isArray(value))
        .map((value) => utf8(JSON.stringify(value))),
  ),
  textDefect('plain text', JSON_TYPES, () =>
    anyText.map(utf8).map((text) => (text === '' || isObject(text) ? 'x' : text)),
  ),
  textDefect('random bytes', JSON_TYPES, () =>
    fc
      .uint8Array({ minLength: 1, maxLength: 200 })
      .map((bytes) => `\u00FF${Buffer.from(bytes).toString('latin1')}`),
  ),
  textDefect('broken UTF-8', ['malformed-json'], (good) =>
    fc
      .tuple(letters(0, 20), fc.constantFrom(...BROKEN_UTF8), letters(0, 20))
      .map(([before, bytes, after]) => withMember(good, `"${before}${bytes}${after}":1`)),
  ),
  strictTextDefect('a duplicate member', 'duplicate-member', (good) =>
    fc.tuple(letters(0, 10), fc.boolean(), fc.boolean()).map(([name, isEscaped, isDeep]) => {
      const again = isEscaped && name !== '' ? escaped(name) : name
      const members = `"${name}":1,"${again}":2`
      return withMember(good, isDeep ? `"zz":[{${members}}]` : members)
    }),
  ),
  strictTextDefect('nested too deep', 'nesting-too-deep', (good) =>
    fc
      .tuple(levels, fc.constantFrom(arrays, objects))
      .map(([depth, nest]) => withMember(good, `"zz":${nest(depth)}`)),
  ),
  strictTextDefect('a forbidden character', 'forbidden-character', (good) =>
    fc
      .tuple(letters(0, 20), fc.constantFrom(...FORBIDDEN), letters(0, 20), fc.boolean())
      .map(([before, character, after, isName]) => {
        const text = `"${before}${character}${after}"`
        return withMember(good, isName ? `${text}:1` : `"zz":${text}`)
      }),
  ),
  {
    kind: 'an integer with a fraction or exponent',
    forOperation(operation) {
      const texts = (operation.body?.good ?? [])
        .map((good) => JSON.stringify(good))
        .filter((text) => /"(amount|grace_seconds)":\d/.test(text))
      if (texts.length === 0) return undefined
      return fc
        .tuple(fc.constantFrom(...texts), fc.constantFrom('.0', '.00', 'e0', 'E+0', '.5', 'e400'))
        .map(([text, end]) => {
          const body = text.replace(/("(?:amount|grace_seconds)":\d+)/, `$1${end}`)
          return defectChange(['invalid-amount', 'invalid-field'], withBody(body))
        })
    },
  },
]

function escaped(name: string): string {
  return `\\u${name.charCodeAt(0).toString(16).padStart(4, '0')}${name.slice(1)}`
}
