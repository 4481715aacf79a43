// Finds card numbers in text and JSON, so that none reaches a log, a job, a metric or a table. It
// returns the place of a card number, never its digits.
import creditCardType from 'credit-card-type'
import { findText } from '../problems/json-pointer.ts'

/**
 * Which part of a body is searched: all of it, or the fields in which clients most likely send one.
 */
export type CardNumberScope = 'everywhere' | 'payment_fields'

const PAYMENT_FIELDS = [
  'payment_method',
  'payment_methods',
  'description',
  'reference',
  'return_url',
] as const

// People and programs put anything between the digits: white space, dashes, dots, slashes, brackets,
// characters without width. Only a letter separates two numbers.
const SEPARATORS = /[^\p{L}\d]+/u
const DIGIT_GROUPS = /\d+(?:[^\p{L}\d]+\d+)*/gu

// Accents, keycaps and variation selectors: they change the look of a digit, not its value.
const MARKS = /\p{M}+/gu

// Random hexadecimal ids contain a card number by chance: one UUID in about 1,200 does. UUIDs and
// runs of 24 hex digits (object ids) and of 32 or more (MD5, every SHA) are therefore exempt.
// Random ids mix digits and letters; a card number with letters attached does not.
const RANDOM_HEX =
  /(?<![\da-z])(?:[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}|[\da-f]{24}|[\da-f]{32,})(?![\da-z])/gi

/** ISO/IEC 7812 allows at most 19 digits; the shortest numbers of a network have 12. */
const DIGITS_MIN = 12
const DIGITS_MAX = 19

interface NumberRange {
  readonly low: number
  readonly high: number
  readonly digits: number
  readonly lengths: readonly number[]
}

const rangesByFirstDigit = groupRanges(Object.values(creditCardType.types).flatMap(networkRanges))

/**
 * Whether a text contains a card number: a sequence of whole digit groups, of any script, with no
 * letter between them. It must have the prefix and length of a network (as listed by
 * credit-card-type) and the check digit of ISO/IEC 7812-1 annex B (Luhn). Letters may touch it.
 * Inside a longer run of digits it does not count.
 */
export function containsCardNumber(text: string): boolean {
  if (!MAYBE_CARD_NUMBER.test(text)) return false
  // Marks are removed first: normalizing sorts a run of marks in quadratic time.
  const plain = text
    .replace(MARKS, '')
    .normalize('NFKC')
    .replace(OTHER_DIGIT, valueOfDigit)
    .replace(RANDOM_HEX, exemptIfMixed)
  const runs = plain.match(DIGIT_GROUPS) ?? []
  return runs.some((run) => holdsCardNumber(run.split(SEPARATORS)))
}

/** A decimal digit of another script than Latin. */
const OTHER_DIGIT = /[^\P{Nd}\d]/gu

/** Unicode has the ten digits of a script in a row, from zero on. */
function valueOfDigit(digit: string): string {
  const code = digit.codePointAt(0) ?? 0
  let value = 0
  while (value < 9 && /\p{Nd}/u.test(String.fromCodePoint(code - value - 1))) value += 1
  return String(value)
}

/** A run without letters that is long enough, or an id that is exempt. */
const MASKABLE = new RegExp(`${RANDOM_HEX.source}|\\p{N}[^\\p{L}]{10,}\\p{N}`, 'giu')

/** The text with `...` in place of every run without letters that contains a card number. */
export function maskCardNumbers(text: string): string {
  return text.replace(MASKABLE, (run) => (containsCardNumber(run) ? '...' : run))
}

/** Twelve digits, or a non-ASCII character, which may be a digit. Most texts have neither. */
const MAYBE_CARD_NUMBER = /[^ -~]|(?:\d\D*){12}/

/**
 * Hexadecimal text counts as random when it has more alternating runs of digits and letters than
 * this.
 */
const TURNS_MIN = 4

function exemptIfMixed(hex: string): string {
  const turns = hex.match(/\d+|[a-f]+|-/gi)?.length ?? 0
  return turns > TURNS_MIN ? 'hex' : hex
}

/**
 * Finds a card number in a parsed JSON body: in strings, numbers and member names.
 *
 * @returns the pointer of its place, as `findText`.
 */
export function findCardNumber(
  body: Readonly<Record<string, unknown>>,
  scope: CardNumberScope,
): string | undefined {
  if (scope === 'everywhere') return findText(body, containsCardNumber)
  for (const field of PAYMENT_FIELDS) {
    const pointer = findText(body[field], containsCardNumber, [field])
    if (pointer !== undefined) return pointer
  }
  return undefined
}

function holdsCardNumber(groups: readonly string[]): boolean {
  return groups.some((_, first) => {
    let digits = ''
    for (let next = first; next < groups.length && digits.length < DIGITS_MAX; next += 1) {
      digits += groups[next]
      if (isCardNumber(digits)) return true
    }
    return false
  })
}

/** Whether a run of digits contains a card number anywhere, also inside a longer number. */
export function hidesCardNumber(digits: string): boolean {
  return holdsCardNumber(digits.split(''))
}

function isCardNumber(digits: string): boolean {
  if (digits.length < DIGITS_MIN || digits.length > DIGITS_MAX) return false
  return hasNetwork(digits) && hasCheckDigit(digits)
}

function hasNetwork(digits: string): boolean {
  const ranges = rangesByFirstDigit.get(digits.charAt(0)) ?? []
  return ranges.some((range) => {
    if (!range.lengths.includes(digits.length)) return false
    const prefix = Number(digits.slice(0, range.digits))
    return prefix >= range.low && prefix <= range.high
  })
}

function hasCheckDigit(digits: string): boolean {
  let sum = 0
  for (let place = 1; place <= digits.length; place += 1) {
    const digit = Number(digits.charAt(digits.length - place))
    const weighted = place % 2 === 0 ? digit * 2 : digit
    sum += weighted > 9 ? weighted - 9 : weighted
  }
  return sum % 10 === 0
}

function networkRanges(network: string): NumberRange[] {
  const { patterns, lengths } = creditCardType.getTypeInfo(network)
  return patterns.filter(isInUse).map((pattern) => {
    const [low = 0, high = low] = Array.isArray(pattern) ? pattern : [pattern]
    return { low, high, digits: String(low).length, lengths }
  })
}

// JCB's old 1800 numbers had 15 digits and are no longer issued. The table lists 16 and 19 digits
// for them, which would match timestamps of January 2027 in micro- and nanoseconds.
function isInUse(pattern: number | number[]): boolean {
  return pattern !== 1800
}

/**
 * Ranges by the first digit of the card number. The widest come first, because they match most
 * often.
 */
function groupRanges(ranges: readonly NumberRange[]): Map<string, NumberRange[]> {
  const widestFirst = ranges.toSorted((one, other) => one.digits - other.digits)
  return Map.groupBy(widestFirst, (range) => String(range.low).charAt(0))
}
