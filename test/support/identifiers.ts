// Makes identifiers as they occur in orders: to measure how many are mistaken for card numbers.
import { randomText, seededRandom } from './seeded-random.ts'

const random = seededRandom(47)
const digits = (length: number) => randomText(random, length, '0123456789')
const between = (low: number, high: number) => low + random(high - low + 1)
const pick = (...texts: readonly string[]) => texts[random(texts.length)] ?? ''
const hex = (length: number) => randomText(random, length, '0123456789abcdef')
const two = (low: number, high: number) => String(between(low, high)).padStart(2, '0')
const date = () => `${between(2024, 2030)}-${two(1, 12)}-${two(1, 28)}`
const time = () => `${two(0, 23)}:${two(0, 59)}:${two(0, 59)}`
const epochSeconds = () => String(between(1_704_067_200, 1_924_991_999))

function uuid(): string {
  return hex(32).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

/** By ISO 13616: German, British, Dutch and French ones. */
function iban(): string {
  return pick(
    `DE${digits(20)}`,
    `GB${digits(2)}${randomText(random, 4, 'ABCDEFGHKLMNPRSTW')}${digits(14)}`,
    `NL${digits(2)}${randomText(random, 4, 'ABCDEFGHKLMNPRSTW')}${digits(10)}`,
    `FR${digits(25)}`,
  )
}

const inFours = (text: string) => text.replaceAll(/(.{4})(?=.)/g, '$1 ')

function phoneNumber(): string {
  return pick(
    `+1 (${between(201, 989)}) ${between(200, 999)}-${digits(4)}`,
    `+44 20 ${digits(4)} ${digits(4)}`,
    `+49 (0)${between(30, 89)} ${digits(3)}${digits(4)}`,
    `+33 ${between(1, 9)}.${digits(2)}.${digits(2)}.${digits(2)}.${digits(2)}`,
    `+86 1${digits(2)} ${digits(4)} ${digits(4)}`,
    `00${between(20, 98)}/${digits(3)}/${digits(7)}`,
  )
}

/** What each kind is called on the page, and what makes one. */
export const identifierKinds: readonly (readonly [kind: string, make: () => string])[] = [
  ['UUIDs', uuid],
  ['32 to 128 hex digits', () => hex(between(32, 128))],
  [
    'order numbers: `#100234`, `order-1042`',
    () => pick('#', 'order-', 'A') + digits(between(4, 8)),
  ],
  [
    'order numbers with a date: `2026/11/28-000123`',
    () => `${date().replaceAll('-', '/')}-${digits(6)}`,
  ],
  ['invoices: `INV/2026/11/00042`', () => `INV/2026/${two(1, 12)}/${digits(5)}`],
  [
    'orders of Amazon: `114-3941689-8772232`',
    () => `${between(100, 799)}-${digits(7)}-${digits(7)}`,
  ],
  ['order ids of 13 digits: `5012345678901`', () => `${between(1, 9)}${digits(12)}`],
  [
    'lists of order numbers: `1001, 1002, 1003, 1004`',
    () => Array.from({ length: 4 }, () => between(1_000, 9_999)).join(', '),
  ],
  ['barcodes of 13 digits (EAN)', () => digits(13)],
  ['parcels: 12, 15 and 22 digits', () => pick(digits(12), digits(15), `94${digits(20)}`)],
  ['IBANs without spaces', iban],
  ['IBANs in groups of four', () => inFours(iban())],
  ['telephone numbers', phoneNumber],
  ['ISO dates and times: `2026-11-28T21:46:07.123Z`', () => `${date()}T${time()}.${digits(3)}Z`],
  [
    'dates and times with a space: `2026-11-28 21:46:07.123456`',
    () => `${date()} ${time()}.${digits(6)}`,
  ],
  [
    'seconds, milli-, micro- and nanoseconds since 1970',
    () => epochSeconds() + digits(between(0, 3) * 3),
  ],
  [
    'addresses: `192.168.12.34:54321`',
    () =>
      `${between(1, 255)}.${between(0, 255)}.${between(0, 255)}.${between(0, 255)}:${between(1024, 65_535)}`,
  ],
  [
    'coordinates: `52.520008, 13.404954`',
    () => `${between(-89, 89)}.${digits(6)}, ${between(-179, 179)}.${digits(6)}`,
  ],
  [
    'prices: `1,299.00 + 49.90 = 1,348.90`',
    () => `${between(1, 9)},${digits(3)}.00 + ${digits(2)}.90 = ${between(1, 9)},${digits(3)}.90`,
  ],
]
