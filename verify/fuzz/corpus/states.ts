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
    'to capture a declined payment': on('declined-payment', 'capture', {}),
    'to capture a canceled payment': on('canceled-payment', 'capture', { amount: 1 }),
    'to cancel a captured payment': on('payment', 'cancel', {}),
    'to cancel a declined payment': on('declined-payment', 'cancel', {}),
    'to cancel a canceled payment': on('canceled-payment', 'cancel', { reason: 'duplicate' }),
    'to refund an uncaptured payment': on('held-payment', 'refunds', {}),
    'to refund a declined payment': on('declined-payment', 'refunds', {}),
    'to refund a canceled payment': on('canceled-payment', 'refunds', { amount: 1 }),
    'an unknown preference': ignored('prefer', 'nonsense'),
    'a wait that is not a number': ignored('prefer', 'wait=soon'),
    'a negative wait': ignored('prefer', 'wait=-1'),
    'an endless wait': ignored('prefer', 'wait=99999999999999999999'),
    'a wait with an unclosed quote': ignored('prefer', 'wait="1'),
    'ten thousand quotes of preferences': ignored('prefer', '"\\'.repeat(5_000)),
    'a hundred preferences': ignored('prefer', ...Array.from({ length: 100 }, () => 'wait=1')),
    'a malformed trace': ignored('traceparent', 'nonsense'),
    'a trace of zeros': ignored('traceparent', `00-${'0'.repeat(32)}-${'0'.repeat(16)}-01`),
    'a trace with an invalid version': ignored('traceparent', `ff-${'1'.repeat(32)}-${'1'.repeat(16)}-01`),
    'two traces': ignored('traceparent', '00-1', '00-2'),
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
    'a partial refund of a disputed payment': on('disputed-payment', 'refunds', { amount: 1 }),
    'a refund of more than a disputed payment': on('disputed-payment', 'refunds', { amount: 2_000 }),
  },
  'refund-exceeds-capture': {
    'a refund beyond the refundable amount': on('payment', 'refunds', { amount: 1_500 }),
    'a refund of the whole capture after a partial refund': on('payment', 'refunds', { amount: 1_999 }),
    'a refund of the maximum amount': on('payment', 'refunds', { amount: 99_999_999 }),
  },
  'capture-exceeds-authorization': {
    'a capture of one more than authorized': on('held-payment', 'capture', { amount: 1_501 }),
    'a capture of the maximum amount': on('held-payment', 'capture', { amount: 99_999_999 }),
  },
  'request-timestamp-invalid': {
    'an empty timestamp': stamped(''),
    'a timestamp without a signature': stamped('t=1767225600'),
    'a signature without a timestamp': stamped(`v1=${HEX}`),
    'a wrong signature': stamped(`t=1767225600,v1=${HEX}`),
    'a signature in upper case': stamped(`t=1767225600,v1=${'A'.repeat(64)}`),
    'a signature that is too long': stamped(`t=1767225600,v1=${HEX}0`),
    'a negative timestamp': stamped(`t=-1,v1=${HEX}`),
    'a timestamp in milliseconds': stamped(`t=1767225600000,v1=${HEX}`),
    'parts in reverse order': stamped(`v1=${HEX},t=1767225600`),
    'two timestamps': stamped('{{request-timestamp}}', '{{request-timestamp}}'),
  },
  'request-too-old': {
    'an hour ago': stamped('{{late-request-timestamp}}'),
    'an hour ahead': stamped('{{early-request-timestamp}}'),
  },
}

export const states: readonly Case[] = casesOf('states and headers', table)
