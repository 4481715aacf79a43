// Draws bodies with one field that its schema just refuses, and well-formed requests that the current
// state refuses: a payment in the wrong status, an amount that is too large, a URL that is not public.
import * as fc from 'fast-check'
import type { ProblemType } from '../../../src/domain/problems/problems.ts'
import { resolve } from '../operations.ts'
import { anyJson, anyText, type JsonValue, letters, secret } from '../values.ts'
import { HELD_MINOR, REFUNDABLE_MINOR } from '../fixtures.ts'
import type { Defect, Members } from './fields.ts'
import { bodyDefect, defectChange, goodBody, isRefused, withBody, withPath } from './fields.ts'

type Schema = Record<string, unknown>

/** The maximum that wrong values assume for fields without maxLength. */
const MANY = 300

const ANY_TYPE: readonly JsonValue[] = [null, true, false, '', '1', [], [[]], {}, { a: 1 }, 0, 1.5]

/** All past and present currency codes. */
const KNOWN_CURRENCIES = new Set([...Intl.supportedValuesOf('currency'), 'XCG'])
const noCurrency = fc
  .oneof(letters(3, 3), letters(3, 3), fc.constantFrom('USD', 'Usd', 'us', 'usdx', 'u$d'))
  .filter((code) => !KNOWN_CURRENCIES.has(code.toUpperCase()) || !/^[a-z]{3}$/.test(code))

/** Values that the schema mostly refuses. */
function wrongFor(schema: Schema): fc.Arbitrary<JsonValue> {
  const variants = (schema['anyOf'] ?? schema['oneOf']) as Schema[] | undefined
  if (variants !== undefined) return fc.oneof(...variants.map((one) => wrongFor(resolve(one))))
  return fc.oneof(
    { weight: 4, arbitrary: nearby(schema) },
    { weight: 1, arbitrary: secret },
    { weight: 1, arbitrary: fc.constantFrom(...ANY_TYPE) },
    { weight: 1, arbitrary: anyJson },
  )
}

function nearby(schema: Schema): fc.Arbitrary<JsonValue> {
  const [type] = [schema['type']].flat()
  if (Array.isArray(schema['enum'])) return wrongWord(schema['enum'].filter(isText))
  if (type === 'integer') return wrongInteger(schema)
  if (type === 'string') return wrongText(schema)
  if (type === 'array') return wrongList(schema)
  if (type === 'object') return wrongNames
  return anyJson
}

const isText = (word: unknown) => typeof word === 'string'

function wrongWord(words: readonly string[]): fc.Arbitrary<JsonValue> {
  const word = fc.constantFrom(...words)
  return fc.oneof(
    letters(0, 20),
    word.map((text) => text.toUpperCase()),
    word.map((text) => `${text} `),
    word.map((text) => [text]),
    fc.tuple(word, word).map(([one, other]) => `${one},${other}`),
  )
}

function wrongInteger({ minimum = 0, maximum = 0 }: Schema): fc.Arbitrary<JsonValue> {
  const [min, max] = [Number(minimum), Number(maximum)]
  return fc.oneof(
    fc.integer({ max: min - 1 }),
    // Without a bound of its own the largest has 32 bits.
    fc.integer({ min: max + 1, max: max * 2 }),
    fc.integer({ min, max }).map((number) => number + 0.5),
    fc.integer({ min, max }).map(String),
    fc.integer({ min, max }).map((number) => [number]),
    fc.constantFrom(min - 1, max + 1, -min, Math.max(2 ** 31, max + 1), 2 ** 53, 1e21),
  )
}

function wrongText({ minLength = 0, maxLength = MANY, pattern }: Schema): fc.Arbitrary<JsonValue> {
  const [least, most] = [Number(minLength), Number(maxLength)]
  if (pattern === '^[a-z]{3}$') return noCurrency
  return fc.oneof(
    fc.integer({ min: most + 1, max: most + 40 }).map((length) => 'x'.repeat(length)),
    fc.integer({ min: 0, max: Math.max(0, least - 1) }).map((length) => 'x'.repeat(length)),
    anyText,
    fc.integer(),
  )
}

function wrongList({ items }: Schema): fc.Arbitrary<JsonValue> {
  const item = wrongFor(resolve((items ?? {}) as Schema))
  const twice = item.map((value): JsonValue => [value, value])
  const many = item.map((value): JsonValue => Array.from({ length: 105 }, () => value))
  return fc.oneof(fc.array(item, { minLength: 1, maxLength: 5 }), twice, many, item)
}

const named = (
  names: fc.Arbitrary<string>,
  values: fc.Arbitrary<JsonValue>,
  [minKeys, maxKeys]: readonly [number, number],
) => fc.dictionary(names, values, { minKeys, maxKeys, noNullPrototype: true })

const wrongNames = fc.oneof(
  named(anyText, anyText, [46, 60]),
  named(letters(41, 60), letters(0, 9), [1, 3]),
  named(letters(1, 9), letters(501, 600), [1, 3]),
  named(letters(1, 9), anyJson, [1, 5]),
  letters(0, 9).map((name): JsonValue => ({ [`atomic_${name}`]: 'x' })),
  letters(0, 9).map((name): JsonValue => ({ [`a[${name}]`]: 'x' })),
)

const field = bodyDefect('a wrong field', (body) => {
  const changed = fieldsOf(body.schema).map(([name, schema]) =>
    fc
      .tuple(goodBody(body), wrongFor(resolve(schema)))
      .map(([good, value]): Members => ({ ...good, [name]: value })),
  )
  if (changed.length === 0) return undefined
  return fc.oneof(...changed).map((value) => {
    // A value may happen to be valid. Then an unknown member makes the body invalid.
    const isBad = isRefused(value, body.isValid) || hasNoCurrency(value)
    return isBad ? value : { ...value, zz: 1 }
  })
})

/** Whether the currency does not exist. openapi.yaml only requires three letters. */
function hasNoCurrency({ currency }: Members): boolean {
  return typeof currency === 'string' && !KNOWN_CURRENCIES.has(currency.toUpperCase())
}

/** The fields of a body's schema, or of all its variants. */
function fieldsOf(schema: Schema): [string, Schema][] {
  const variants = (schema['anyOf'] ?? schema['oneOf'] ?? [schema]) as Schema[]
  return variants.flatMap((one) =>
    Object.entries((resolve(one)['properties'] ?? {}) as Record<string, Schema>),
  )
}

export const schemaDefects: readonly Defect[] = [field]

const MOST = 99_999_999

/** The payments whose status refuses an operation. */
const WRONG_STATES: Readonly<Record<string, readonly string[]>> = {
  capturePayment: ['payment', 'declined-payment', 'canceled-payment'],
  cancelPayment: ['payment', 'declined-payment', 'canceled-payment'],
  createRefund: ['held-payment', 'declined-payment', 'canceled-payment'],
}

const wrongState: Defect = {
  kind: 'a payment in the wrong status',
  forOperation({ id, pathId = '', target }) {
    const payments = WRONG_STATES[id]
    if (payments === undefined) return undefined
    return fc
      .constantFrom(...payments)
      .map((name) =>
        defectChange(['invalid-state'], withPath(target.replace(pathId, `{{${name}}}`))),
      )
  },
}

/** The largest amount that each operation allows, and the problem of a larger one. */
const LARGEST: Readonly<Record<string, readonly [number, ProblemType]>> = {
  capturePayment: [HELD_MINOR, 'capture-exceeds-authorization'],
  createRefund: [REFUNDABLE_MINOR, 'refund-exceeds-capture'],
}

const tooMuch: Defect = {
  kind: 'an amount that is too large',
  forOperation({ id }) {
    const [largest, type] = LARGEST[id] ?? []
    if (largest === undefined || type === undefined) return undefined
    return fc
      .integer({ min: largest + 1, max: MOST })
      .map((amount) => defectChange([type, 'invalid-state'], withBody(`{"amount":${amount}}`)))
  },
}

/** The IPv4 blocks outside the public internet (RFC 6890), by first address and prefix length. */
const BLOCKS: readonly (readonly [first: number, prefix: number])[] = [
  [0x00_00_00_00, 8],
  [0x0a_00_00_00, 8],
  [0x64_40_00_00, 10],
  [0x7f_00_00_00, 8],
  [0xa9_fe_00_00, 16],
  [0xac_10_00_00, 12],
  [0xc0_a8_00_00, 16],
  [0xc6_12_00_00, 15],
  [0xe0_00_00_00, 4],
  [0xf0_00_00_00, 4],
]

const address = fc
  .tuple(fc.constantFrom(...BLOCKS), fc.nat({ max: 0xffff_ffff }))
  .map(([[first, prefix], any]) => first + (any % 2 ** (32 - prefix)))

const dotted = (number: number) =>
  [24, 16, 8, 0].map((bits) => Math.floor(number / 2 ** bits) % 256).join('.')

/** The forms in which a URL may contain an IPv4 address. */
const FORMS: readonly ((number: number, hex: string) => string)[] = [
  dotted,
  String,
  (_, hex) => `0x${hex}`,
  (number) => `0${number.toString(8)}`,
  (_, hex) => `[::ffff:${hex.slice(0, 4)}:${hex.slice(4)}]`,
  (_, hex) => `[64:ff9b::${hex.slice(0, 4)}:${hex.slice(4)}]`,
  (number) => `${dotted(number)}.`,
]

const host = fc
  .tuple(address, fc.constantFrom(...FORMS))
  .map(([number, show]) => show(number, number.toString(16).padStart(8, '0')))

const SCHEMES = ['http', 'ftp', 'file', 'gopher', 'ws', 'data', 'javascript']

const url = fc.oneof(
  { weight: 3, arbitrary: host.map((name) => `https://${name}/hook`) },
  { weight: 1, arbitrary: fc.constantFrom(...SCHEMES).map((one) => `${one}://fuzz.invalid/`) },
  { weight: 1, arbitrary: letters(1, 20).map((name) => `https://${name}@fuzz.invalid/`) },
  { weight: 1, arbitrary: letters(0, 20).map((name) => `https://fuzz.invalid/#${name || 'x'}`) },
  { weight: 1, arbitrary: letters(1, 30) },
)

const refusedUrl: Defect = {
  kind: 'a refused webhook URL',
  forOperation: ({ id }) =>
    id === 'createWebhookEndpoint'
      ? // An address as one number has at most ten digits, too few for a card number.
        url.map((text) =>
          defectChange(['webhook-url-refused'], withBody(JSON.stringify({ url: text }))),
        )
      : undefined,
}

export const stateDefects: readonly Defect[] = [wrongState, tooMuch, refusedUrl]
