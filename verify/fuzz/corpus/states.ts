// Valid requests that the payment's status or amount refuses, and requests with an invalid
// timestamp. Malformed headers that the service ignores are sent with a capture that is refused
// anyway.
import type { Case } from '../draft.ts'
import { casesOf, type Change, payment, post, type Table } from './requests.ts'

const on = (name: string, what: string, body: object, change: Change = {}) =>
  post(`/v1/payments/{{${name}}}/${what}`, body, change)
const stamped = (...stamps: readonly string[]) =>
  payment({ headers: { 'request-timestamp': stamps } })
/**
 * A header that the service ignores. The payment cannot be captured, so the answer is
 * `invalid-state`.
 */
const ignored = (name: string, ...values: readonly string[]) =>
  on('payment', 'capture', {}, { headers: { [name]: values } })
const HEX = '0'.repeat(64)

// prettier-ignore
const table: Table = {
  'invalid-state': {
    'to capture a captured payment': on('payment', 'capture', {}),
    'to cancel a captured payment': on('payment', 'cancel', {}),
    'to refund a canceled payment': on('canceled-payment', 'refunds', { amount: 1 }),
    'ten thousand quotes of preferences': ignored('prefer', '"\\'.repeat(5_000)),
    'a hundred preferences': ignored('prefer', ...Array.from({ length: 100 }, () => 'wait=1')),
    'a trace state': ignored('tracestate', 'a=b,'.repeat(200)),
    'baggage': ignored('baggage', 'tenant={{other-tenant}}'),
    'a malformed language': ignored('accept-language', '*;q=x'),
    'an unavailable type': ignored('accept', 'image/png'),
    'a forged sender address': ignored('x-forwarded-for', '127.0.0.1'),
    'another host': ignored('x-forwarded-host', 'evil.invalid'),
    'a range': ignored('range', 'bytes=0-1'),
    'a condition': ignored('if-match', '"x"'),
    'an upgrade': ignored('upgrade', 'websocket'),
  },
  'charge-disputed': {
    'a refund of a disputed payment': on('disputed-payment', 'refunds', {}),
    'a refund of more than a disputed payment': on('disputed-payment', 'refunds', { amount: 2_000 }),
  },
  'refund-exceeds-capture': {
    'a refund beyond the refundable amount': on('payment', 'refunds', { amount: 1_500 }),
    'a refund of the whole capture after a partial refund': on('payment', 'refunds', { amount: 1_999 }),
  },
  'capture-exceeds-authorization': {
    'a capture of one more than authorized': on('held-payment', 'capture', { amount: 1_501 }),
  },
  'request-timestamp-invalid': {
    'a timestamp without a signature': stamped('t=1767225600'),
    'a signature that is too long': stamped(`t=1767225600,v1=${HEX}0`),
    'a negative timestamp': stamped(`t=-1,v1=${HEX}`),
    'a timestamp in milliseconds': stamped(`t=1767225600000,v1=${HEX}`),
    'parts in reverse order': stamped(`v1=${HEX},t=1767225600`),
    'two timestamps': stamped('{{request-timestamp}}', '{{request-timestamp}}'),
  },
}

export const states: readonly Case[] = casesOf('states and headers', table)
