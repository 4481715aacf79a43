// Draws well-formed requests that the current state refuses: a payment in the wrong status, an
// amount that is too large, or a webhook URL that is not public.
import * as fc from 'fast-check'
import { HELD_MINOR, REFUNDABLE_MINOR } from '../fixtures.ts'
import { letters } from '../values.ts'
import { defectChange, withBody, type Defect, type Parts } from './defect.ts'

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
    return fc.constantFrom(...payments).map((name) =>
      defectChange(['invalid-state'], (parts) => ({
        ...parts,
        path: target.replace(pathId, `{{${name}}}`),
      })),
    )
  },
}

const tooMuch: Defect = {
  kind: 'an amount that is too large',
  forOperation({ id }) {
    if (id === 'capturePayment') {
      return fc
        .integer({ min: HELD_MINOR + 1, max: MOST })
        .map((amount) =>
          defectChange(
            ['capture-exceeds-authorization', 'invalid-state'],
            withBody(`{"amount":${amount}}`),
          ),
        )
    }
    if (id !== 'createRefund') return undefined
    return fc
      .integer({ min: REFUNDABLE_MINOR + 1, max: MOST })
      .map((amount) =>
        defectChange(['refund-exceeds-capture', 'invalid-state'], withBody(`{"amount":${amount}}`)),
      )
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
const host = fc.tuple(address, fc.nat({ max: 6 })).map(([number, form]) => {
  const hex = number.toString(16).padStart(8, '0')
  const short = `${hex.slice(0, 4)}:${hex.slice(4)}`
  return (
    [
      dotted(number),
      String(number),
      `0x${hex}`,
      `0${number.toString(8)}`,
      `[::ffff:${short}]`,
      `[64:ff9b::${short}]`,
      `${dotted(number)}.`,
    ][form] ?? ''
  )
})

const url = fc.oneof(
  { weight: 3, arbitrary: host.map((name) => `https://${name}/hook`) },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom('http', 'ftp', 'file', 'gopher', 'ws', 'data', 'javascript')
      .map((scheme) => `${scheme}://fuzz.invalid/`),
  },
  { weight: 1, arbitrary: letters(1, 20).map((name) => `https://${name}@fuzz.invalid/`) },
  { weight: 1, arbitrary: letters(0, 20).map((name) => `https://fuzz.invalid/#${name || 'x'}`) },
  { weight: 1, arbitrary: letters(1, 30) },
)

const refusedUrl: Defect = {
  kind: 'a refused webhook URL',
  forOperation: ({ id }) =>
    id === 'createWebhookEndpoint'
      ? url.map((text) =>
          // An address as one number has at most ten digits, too few for a card number.
          defectChange(['webhook-url-refused'], (parts: Parts) => ({
            ...parts,
            body: JSON.stringify({ url: text }),
          })),
        )
      : undefined,
}

export const stateDefects: readonly Defect[] = [wrongState, tooMuch, refusedUrl]
