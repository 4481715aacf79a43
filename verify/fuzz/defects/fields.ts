// Draws JSON bodies that openapi.yaml does not allow: good bodies with random changes, validated
// against the document.
import * as fc from 'fast-check'
import type { ProblemType } from '../../../src/domain/problems/problems.ts'
import type { BodyContract, Operation } from '../operations.ts'
import { utf8 } from '../draft.ts'
import { CARD_NUMBERS, anyJson, anyNumber, anyText, type JsonValue, letters } from '../values.ts'

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

export function withPath(path: string): (parts: Parts) => Parts {
  return (parts) => ({ ...parts, path })
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

/** Replaces the value at a place. */
const replacing = (changes: fc.Arbitrary<(value: JsonValue) => JsonValue>): Mutation =>
  fc.tuple(fc.nat(), changes).map(
    ([place, change]) =>
      (body) =>
        replaceAt(body, place, change),
  )

const adding = (names: fc.Arbitrary<string>): Mutation =>
  fc.tuple(names, anyJson).map(([name, value]) => (body) => ({ ...body, [name]: value }))

export const mutations: readonly Mutation[] = [
  // Replace a value.
  ...[anyJson, anyNumber, anyText].map((values: fc.Arbitrary<JsonValue>) =>
    replacing(values.map((value) => () => value)),
  ),
  // Change the type of a value.
  replacing(fc.constant((value) => [value])),
  replacing(fc.constant((value) => ({ value }))),
  replacing(fc.constant(String)),
  replacing(fc.constant(() => null)),
  // Lengthen a text.
  replacing(
    fc.tuple(anyText, fc.boolean()).map(([more, isBefore]) => (value) => {
      if (typeof value !== 'string') return more
      return isBefore ? more + value : value + more
    }),
  ),
  replacing(
    fc.constantFrom(41, 201, 256, 501, 1_001, 2_049).map((length) => () => 'x'.repeat(length)),
  ),
  // Remove or add a member.
  fc.nat().map((place) => (body) => removeAt(body, place)),
  adding(anyText),
  adding(fc.constantFrom('metadata', 'description', 'customer', 'reason', 'ids', 'scopes')),
  fc
    .dictionary(anyText, anyText, { maxKeys: 50, noNullPrototype: true })
    .map((metadata) => (body) => ({ ...body, metadata })),
  // Change the case of a name.
  fc.nat().map((place) => (body) => rename(body, place)),
]

/** Applies one to three changes. Adds an unknown member if the result is still valid. */
function refusedBodies(body: BodyContract): fc.Arbitrary<Members> {
  const changes = fc.array(fc.oneof(...mutations), { minLength: 1, maxLength: 3 })
  return fc.tuple(goodBody(body), changes).map(([good, some]) => {
    const changed = some.reduce((now, change) => change(now), good)
    return isRefused(changed, body.isValid) ? changed : { ...changed, [UNKNOWN]: 1 }
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
function typesOf(text: string): readonly ProblemType[] {
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

/** A defect of a JSON body, for operations with our own rules. */
export function bodyDefect(
  kind: string,
  draw: (body: BodyContract) => fc.Arbitrary<JsonValue> | undefined,
  types: (text: string) => readonly ProblemType[] = typesOf,
): Defect {
  return {
    kind,
    forOperation({ access, body }) {
      if (body === undefined || access === 'open') return undefined
      return draw(body)?.map((value) => {
        const text = JSON.stringify(value)
        return defectChange(types(text), withBody(utf8(text)))
      })
    },
  }
}

/** One of the good bodies. */
export const goodBody = ({ good }: BodyContract) => fc.constantFrom(...(good as Members[]))

const unknownMember = bodyDefect('an unknown member', (body) =>
  fc
    .tuple(goodBody(body), letters(1, 30), anyJson)
    .map(([good, name, value]) => ({ ...good, [`zz_${name}`]: value })),
)

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

const cardNumbers = bodyDefect(
  'a card number',
  (body) =>
    fc
      .tuple(
        goodBody(body),
        cardNumber,
        fc.tuple(letters(0, 20), letters(0, 20)),
        fc.constantFrom('member', 'name', 'number', 'deep', 'value'),
        fc.nat(),
      )
      .map(([good, card, [before, after], where, place]) =>
        placeCard(good, `${before}${card}${after}`, where, place),
      ),
  () => ['card-number-refused'],
)

function placeCard(good: Members, card: string, where: string, place: number): Members {
  if (where === 'name') return { ...good, [card]: 'x' }
  if (where === 'number')
    return { ...good, [UNKNOWN]: Number(CARD_NUMBERS[place % CARD_NUMBERS.length]) }
  if (where === 'deep') return { ...good, [UNKNOWN]: [[{ a: [card] }]] }
  if (where === 'value' && Object.keys(good).length > 0) return replaceAt(good, place, () => card)
  return { ...good, [UNKNOWN]: card }
}

export const fieldDefects: readonly Defect[] = [
  bodyDefect('fields', refusedBodies),
  unknownMember,
  cardNumbers,
]

/** All members below the root, parents first. */
function membersOf(value: JsonValue): [parent: object, name: string, value: JsonValue][] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, member]) => [
    [value, name, member],
    ...membersOf(member),
  ])
}

function replaceAt(body: Members, place: number, make: (value: JsonValue) => JsonValue): Members {
  const copy = structuredClone(body)
  const members = membersOf(copy)
  const [parent, name = '', value = null] = members[place % Math.max(1, members.length)] ?? []
  // An assignment to the name __proto__ would have another effect.
  if (parent !== undefined) Object.defineProperty(parent, name, { value: make(value) })
  return copy
}

function removeAt(body: Members, place: number): Members {
  const members = Object.entries(body)
  return Object.fromEntries(members.toSpliced(place % Math.max(1, members.length), 1))
}

function rename(body: Members, place: number): Members {
  const members = Object.entries(body)
  const at = place % Math.max(1, members.length)
  return Object.fromEntries(
    members.map(([name, value], index) => [index === at ? name.toUpperCase() : name, value]),
  )
}
