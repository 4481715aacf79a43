// Random values: hostile texts, any JSON, and texts without digits. Card numbers for tests.
import * as fc from 'fast-check'

const ALPHABET = 'abcdefghijklmnopqrstuvwxyz'.split('')

/** Letters only: random digits could form a card number. */
export const letters = (minLength: number, maxLength: number): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom(...ALPHABET), minLength, maxLength })

export const words = (text: string): string[] => text.trim().split(/\s+/)

/** Stripe's test numbers, of every card network. */
export const CARD_NUMBERS = words(`
  4242424242424242 4000056655665556 5555555555554444 2223003122003222 5105105105105100
  378282246310005 371449635398431 6011111111111117 6011981111111113 3056930009020004
  36227206271667 3566002020360505 6200000000000005
`)

/** Blank and invisible characters, and halves of others. */
const ODD_CHARACTERS = '\u0000\u007F\u00A0\u200B\u202E\u2028\uFEFF\uFFFD\uFFFF\uD800\uDC00'.split(
  '',
)

const NASTY = [
  '',
  ' ',
  ...ODD_CHARACTERS,
  '\u{1F600}',
  '\u{1F468}\u200D\u{1F469}\u200D\u{1F467}',
  'Z\u0351\u036B\u0343',
  ...words('null undefined NaN __proto__ constructor ../../etc/passwd'),
  "' or '1'='1",
  '"; drop table payments; --',
  '${7*7}',
  '{{7*7}}',
  '%00',
  '%s%s%n',
  '<script>alert(1)</script>',
  '\r\nx-injected: 1',
  'a'.repeat(600),
]

/** Texts from all of Unicode, well-formed or not. */
export const anyText: fc.Arbitrary<string> = fc.oneof(
  { weight: 2, arbitrary: fc.constantFrom(...NASTY) },
  { weight: 1, arbitrary: fc.string({ unit: 'grapheme', maxLength: 60 }) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 60 }) },
  { weight: 1, arbitrary: letters(0, 60) },
)

const NUMBERS = [
  0, -0, 1, -1, 0.5, 1e-7, 255, 256, 65_536, 2_147_483_647, 2_147_483_648, 99_999_999, 100_000_000,
  4_294_967_296, 9_007_199_254_740_991, 1e21, 1e308, 5e-324, -1e308,
] as const

export const anyNumber: fc.Arbitrary<number> = fc.oneof(
  fc.constantFrom(...NUMBERS),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
)

export type JsonValue =
  | null
  | boolean
  | number
  | string
  | JsonValue[]
  | { [name: string]: JsonValue }

export const anyJson: fc.Arbitrary<JsonValue> = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(null, true, false),
    anyText,
    anyNumber,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(anyText, tie('value'), { maxKeys: 4, noNullPrototype: true }),
  ),
})).value

/**
 * Secrets that no answer may contain. Requests that may be valid have none: an accepted value may
 * be returned.
 */
export const secret = fc.constantFrom('{{tenant-key}}', '{{admin-key}}', '{{webhook-secret}}')

/** Bytes that a header value may contain, without spaces and digits. */
export const headerText = (minLength: number, maxLength: number): fc.Arbitrary<string> =>
  fc.string({
    unit: fc
      .integer({ min: 0x21, max: 0xff })
      .filter((code) => code < 0x30 || (code > 0x39 && code !== 0x7f))
      .map((code) => String.fromCharCode(code)),
    minLength,
    maxLength,
  })

/** A percent-encoded path segment or query value. */
export const escapedText: fc.Arbitrary<string> = anyText.map((text) =>
  encodeURIComponent(text.toWellFormed()),
)
