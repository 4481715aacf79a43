// Draws JSON bodies that openapi.yaml does not allow: good bodies with random changes, validated
// against the document.
import * as fc from 'fast-check'
import type { ProblemType } from '../../../src/domain/problems/problems.ts'
import type { BodyContract, Operation } from '../operations.ts'
import { utf8 } from '../draft.ts'
import { CARD_NUMBERS } from '../judge.ts'
import { anyJson, anyNumber, anyText, type JsonValue, letters } from '../values.ts'

/** The parts of a request under construction. Defects change them one after the other. */
export interface Parts {
  readonly method: string
  readonly path: string
  readonly query: readonly string[]
  /** Values by lower-case name. Several values become several header lines. */
  readonly headers: Readonly<Record<string, readonly string[]>>
  /** One character per byte. */
  readonly body: string | undefined
}

export interface DefectChange {
  readonly change: (parts: Parts) => Parts
  /** The problems that the service may report for this defect. */
  readonly types: readonly ProblemType[]
}

export interface Defect {
  readonly kind: string
  /** Draws the defect for an operation. Undefined if the operation cannot have it. */
  readonly forOperation: (operation: Operation) => fc.Arbitrary<DefectChange> | undefined
}

export function defectChange(
  types: readonly ProblemType[],
  change: (parts: Parts) => Parts,
): DefectChange {
  return { types, change }
}

export function withBody(body: string): (parts: Parts) => Parts {
  return (parts) => ({ ...parts, body })
}

/** Sets a header. Without values, removes it. */
export function withHeader(name: string, values: readonly string[]): (parts: Parts) => Parts {
  return (parts) => ({ ...parts, headers: { ...parts.headers, [name]: values } })
}

export type Members = { [name: string]: JsonValue }

const FIELD_TYPES: readonly ProblemType[] = [
  'invalid-field',
  'unknown-field',
  'invalid-amount',
  'unknown-currency',
]

const BODY_MAX_BYTES = 65_536

/** A member that no body has. */
const UNKNOWN = 'zz_unknown'

/** One random change of a body. The first number selects the place. */
type Mutation = fc.Arbitrary<(body: Members) => Members>

export const mutations: readonly Mutation[] = [
  // Replace a value.
  ...[anyJson, anyNumber, anyText].map((values: fc.Arbitrary<JsonValue>): Mutation =>
    fc.tuple(fc.nat(), values).map(
      ([place, value]) =>
        (body) =>
          replaceAt(body, place, () => value),
    ),
  ),
  // Change the type of a value.
  fc.nat().map((place) => (body) => replaceAt(body, place, (value) => [value])),
  fc.nat().map((place) => (body) => replaceAt(body, place, (value) => ({ value }))),
  fc.nat().map((place) => (body) => replaceAt(body, place, String)),
  fc.nat().map((place) => (body) => replaceAt(body, place, () => null)),
  // Lengthen a text.
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
  // Remove or add a member.
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
  // Change the case of a name.
  fc.nat().map((place) => (body) => rename(body, place)),
]

/** Applies one to three changes. Adds an unknown member if the result is still valid. */
function refusedBodies({ good, isValid }: BodyContract): fc.Arbitrary<Members> {
  const changes = fc.array(fc.oneof(...mutations), { minLength: 1, maxLength: 3 })
  return fc.tuple(fc.constantFrom(...(good as Members[])), changes).map(([body, some]) => {
    const changed = some.reduce((now, change) => change(now), body)
    return isRefused(changed, isValid) ? changed : { ...changed, [UNKNOWN]: 1 }
  })
}

/**
 * Whether openapi.yaml refuses a body. JSON Schema counts code points, the service counts UTF-16
 * code units. A text may be too short for one and long enough for the other, so both counts must
 * refuse it.
 */
export function isRefused(body: unknown, isValid: (body: unknown) => boolean): boolean {
  const asCounted = JSON.stringify(body).replaceAll(/[\u{10000}-\u{10FFFF}]/gu, 'xx')
  return !isValid(body) && !isValid(JSON.parse(asCounted))
}

/** The problems that the service may report for a body with wrong fields. */
export function typesOf(text: string): readonly ProblemType[] {
  return [
    ...FIELD_TYPES,
    // Random digits may form a card number.
    ...(text.replaceAll(/\D/g, '').length >= 12 ? (['card-number-refused'] as const) : []),
    ...(text.includes('{{') ? (['secret-refused'] as const) : []),
    // Random values may add up to a body that is too large.
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

/** A card number with a usual separator, or in full-width digits. */
const cardNumber: fc.Arbitrary<string> = fc
  .tuple(
    fc.constantFrom(...CARD_NUMBERS),
    fc.constantFrom('', ' ', '-', '.', '/', ')(', '\u2013', '\u00A0', '\u200B', '\t', ' - '),
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

/** The paths of all values below the root, parents first. */
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
