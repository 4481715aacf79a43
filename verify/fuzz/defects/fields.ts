// Bodies that are JSON, and not what openapi.yaml says: good ones with something changed by chance, which the
// document itself has to refuse.
import * as fc from 'fast-check'
import type { ProblemType } from '../../../src/domain/problems/problems.ts'
import { utf8 } from '../draft.ts'
import type { BodyContract } from '../operations.ts'
import { CARD_NUMBERS } from '../secrets.ts'
import { anyJson, anyNumber, anyText, letters, type JsonValue } from '../values.ts'
import { defectChange, withBody, type Defect, type DefectChange } from './defect.ts'

export type Members = { [name: string]: JsonValue }

const FIELD_TYPES: readonly ProblemType[] = [
  'invalid-field',
  'unknown-field',
  'invalid-amount',
  'unknown-currency',
]

const BODY_MAX_BYTES = 65_536

/** No body has it. */
const UNKNOWN = 'zz_unknown'

/** One change of a body; the first number says of which place. */
type Mutation = fc.Arbitrary<(body: Members) => Members>

export const mutations: readonly Mutation[] = [
  // Another value in the place of one.
  fc.tuple(fc.nat(), anyJson).map(
    ([place, value]) =>
      (body) =>
        replaceAt(body, place, () => value),
  ),
  fc.tuple(fc.nat(), anyNumber).map(
    ([place, value]) =>
      (body) =>
        replaceAt(body, place, () => value),
  ),
  fc.tuple(fc.nat(), anyText).map(
    ([place, value]) =>
      (body) =>
        replaceAt(body, place, () => value),
  ),
  // The same value as another type.
  fc.nat().map((place) => (body) => replaceAt(body, place, (value) => [value])),
  fc.nat().map((place) => (body) => replaceAt(body, place, (value) => ({ value }))),
  fc.nat().map((place) => (body) => replaceAt(body, place, String)),
  fc.nat().map((place) => (body) => replaceAt(body, place, () => null)),
  // A little more of a text, or much.
  fc.tuple(fc.nat(), anyText, fc.boolean()).map(
    ([place, more, isBefore]) =>
      (body) =>
        replaceAt(body, place, (value) => {
          if (typeof value !== 'string') return more
          return isBefore ? more + value : value + more
        }),
  ),
  fc.tuple(fc.nat(), fc.constantFrom(41, 201, 256, 501, 1_001, 2_049)).map(
    ([place, length]) =>
      (body) =>
        replaceAt(body, place, () => 'x'.repeat(length)),
  ),
  // A member less, or more.
  fc.nat().map((place) => (body) => removeAt(body, place)),
  fc.tuple(anyText, anyJson).map(
    ([name, value]) =>
      (body) =>
        Object.fromEntries([...Object.entries(body), [name, value]]),
  ),
  fc
    .tuple(
      fc.constantFrom('metadata', 'description', 'customer', 'reason', 'ids', 'scopes'),
      anyJson,
    )
    .map(([name, value]) => (body) => ({ ...body, [name]: value })),
  fc
    .dictionary(anyText, anyText, { maxKeys: 50, noNullPrototype: true })
    .map((metadata) => (body) => ({ ...body, metadata })),
  // A name in other letters.
  fc.nat().map((place) => (body) => rename(body, place)),
]

/** Some changes at a time, until the document refuses what comes of them. */
function refusedBodies({ good, isValid }: BodyContract): fc.Arbitrary<Members> {
  const changes = fc.array(fc.oneof(...mutations), { minLength: 1, maxLength: 3 })
  return fc.tuple(fc.constantFrom(...(good as Members[])), changes).map(([body, some]) => {
    const changed = some.reduce((now, change) => change(now), body)
    return isRefused(changed, isValid) ? changed : { ...changed, [UNKNOWN]: 1 }
  })
}

/**
 * By the document, as the service reads it: it counts the 16 bits of UTF-16 where JSON Schema counts characters,
 * and so a text that is too short for the one may do for the other.
 */
export function isRefused(body: unknown, isValid: (body: unknown) => boolean): boolean {
  const asCounted = JSON.stringify(body).replaceAll(/[\u{10000}-\u{10FFFF}]/gu, 'xx')
  return !isValid(body) && !isValid(JSON.parse(asCounted))
}

/** Which problems a body may be told of beside those of its fields. */
export function typesOf(text: string): readonly ProblemType[] {
  return [
    ...FIELD_TYPES,
    // What is drawn by chance may be one.
    ...(text.replaceAll(/\D/g, '').length >= 12 ? (['card-number-refused'] as const) : []),
    // Many of something that is long.
    ...(Buffer.byteLength(text) > BODY_MAX_BYTES ? (['body-too-large'] as const) : []),
    ...(/\\u(0000|d[89a-f])/i.test(text) ? (['forbidden-character'] as const) : []),
  ]
}

const wrongFields: Defect = {
  kind: 'fields',
  forOperation({ access, body }) {
    if (body === undefined || access === 'open') return undefined
    return refusedBodies(body).map((value): DefectChange => {
      const text = JSON.stringify(value)
      return defectChange(typesOf(text), withBody(utf8(text)))
    })
  },
}

const unknownMember: Defect = {
  kind: 'an unknown member',
  forOperation({ access, body }) {
    if (body === undefined || access === 'open') return undefined
    return fc
      .tuple(fc.constantFrom(...(body.good as Members[])), letters(1, 30), anyJson)
      .map(([good, name, value]) => {
        const text = JSON.stringify({ ...good, [`zz_${name}`]: value })
        return defectChange(typesOf(text), withBody(utf8(text)))
      })
  },
}

/** A card number as people write it. */
const cardNumber: fc.Arbitrary<string> = fc
  .tuple(
    fc.constantFrom(...CARD_NUMBERS),
    fc.constantFrom('', ' ', '-', '\u2013', '\u00A0', '\u200B', '\t', ' - '),
    fc.constantFrom(1, 2, 4),
    fc.boolean(),
  )
  .map(([digits, separator, size, isWide]) => {
    const grouped = digits.match(new RegExp(`.{1,${size}}`, 'g'))?.join(separator) ?? digits
    return isWide ? grouped.replaceAll(/\d/g, toFullWidth) : grouped
  })

function toFullWidth(digit: string): string {
  return String.fromCharCode(digit.charCodeAt(0) + 0xfee0)
}

const cardNumbers: Defect = {
  kind: 'a card number',
  forOperation({ access, body }) {
    if (body === undefined || access === 'open') return undefined
    const placed = fc.tuple(
      fc.constantFrom(...(body.good as Members[])),
      cardNumber,
      fc.tuple(letters(0, 20), letters(0, 20)),
      fc.constantFrom('member', 'name', 'number', 'deep', 'value'),
      fc.nat(),
    )
    return placed.map(([good, card, [before, after], where, place]) => {
      const text = JSON.stringify(placeCard(good, `${before}${card}${after}`, where, place))
      return defectChange(['card-number-refused'], withBody(utf8(text)))
    })
  },
}

function placeCard(good: Members, card: string, where: string, place: number): Members {
  if (where === 'name') return { ...good, [card]: 'x' }
  if (where === 'number')
    return { ...good, [UNKNOWN]: Number(CARD_NUMBERS[place % CARD_NUMBERS.length]) }
  if (where === 'deep') return { ...good, [UNKNOWN]: [[{ a: [card] }]] }
  if (where === 'value' && placesOf(good).length > 0) return replaceAt(good, place, () => card)
  return { ...good, [UNKNOWN]: card }
}

export const fieldDefects: readonly Defect[] = [wrongFields, unknownMember, cardNumbers]

type Path = readonly (string | number)[]

/** Everything below the top, outer things before what they hold. */
function placesOf(value: JsonValue, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return []
  const members = Array.isArray(value) ? [...value.entries()] : Object.entries(value)
  return members.flatMap(([name, member]) => [
    [...path, name],
    ...placesOf(member, [...path, name]),
  ])
}

function replaceAt(body: Members, place: number, make: (value: JsonValue) => JsonValue): Members {
  const places = placesOf(body)
  const path = places[place % Math.max(1, places.length)]
  return path === undefined ? body : (changeAt(body, path, make) as Members)
}

function changeAt(value: JsonValue, path: Path, make: (value: JsonValue) => JsonValue): JsonValue {
  const [name, ...rest] = path
  if (name === undefined) return make(value)
  if (Array.isArray(value)) {
    return value.map((member, index) => (index === name ? changeAt(member, rest, make) : member))
  }
  const members = Object.entries(value as Members)
  return Object.fromEntries(
    members.map(([own, member]) => [own, own === name ? changeAt(member, rest, make) : member]),
  )
}

function removeAt(body: Members, place: number): Members {
  const names = Object.keys(body)
  const gone = names[place % Math.max(1, names.length)]
  return Object.fromEntries(Object.entries(body).filter(([name]) => name !== gone))
}

function rename(body: Members, place: number): Members {
  const names = Object.keys(body)
  const old = names[place % Math.max(1, names.length)]
  return Object.fromEntries(
    Object.entries(body).map(([name, value]) => [name === old ? name.toUpperCase() : name, value]),
  )
}
