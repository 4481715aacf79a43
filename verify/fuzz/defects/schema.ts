// Draws bodies with one field that its schema just refuses: slightly too long, slightly too large,
// or of another type.
import * as fc from 'fast-check'
import { utf8 } from '../draft.ts'
import { resolve } from '../operations.ts'
import { anyJson, anyText, letters, secret, type JsonValue } from '../values.ts'
import { defectChange, withBody, type Defect } from './defect.ts'
import { isRefused, typesOf, type Members } from './fields.ts'

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

const wrongNames = fc.oneof(
  fc.dictionary(anyText, anyText, { minKeys: 46, maxKeys: 60, noNullPrototype: true }),
  fc.dictionary(letters(41, 60), letters(0, 9), { minKeys: 1, maxKeys: 3, noNullPrototype: true }),
  fc.dictionary(letters(1, 9), letters(501, 600), {
    minKeys: 1,
    maxKeys: 3,
    noNullPrototype: true,
  }),
  fc.dictionary(letters(1, 9), anyJson, { minKeys: 1, maxKeys: 5, noNullPrototype: true }),
  letters(0, 9).map((name): JsonValue => ({ [`atomic_${name}`]: 'x' })),
  letters(0, 9).map((name): JsonValue => ({ [`a[${name}]`]: 'x' })),
)

const field: Defect = {
  kind: 'a wrong field',
  forOperation({ access, body }) {
    if (body === undefined || access === 'open') return undefined
    const fields = fieldsOf(body.schema)
    if (fields.length === 0) return undefined
    const changed = fields.map(([name, schema]) =>
      fc
        .tuple(fc.constantFrom(...(body.good as Members[])), wrongFor(resolve(schema)))
        .map(([good, value]): Members => ({ ...good, [name]: value })),
    )
    return fc.oneof(...changed).map((value) => {
      // A value may happen to be valid. Then an unknown member makes the body invalid.
      const isBad = isRefused(value, body.isValid) || hasNoCurrency(value)
      const text = JSON.stringify(isBad ? value : { ...value, zz: 1 })
      return defectChange(typesOf(text), withBody(utf8(text)))
    })
  },
}

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
