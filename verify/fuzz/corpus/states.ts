// Requests that are good in themselves, for a payment that has come too far, or too late; and headers that are
// ignored when they are malformed, on requests that are refused for something else.
import type { Case } from '../draft.ts'
import { casesOf, payment, post, type Change, type Table } from './requests.ts'

const on = (name: string, what: string, body: object, change: Change = {}) =>
  post(`/v1/payments/{{${name}}}/${what}`, body, change)
const stamped = (...stamps: readonly string[]) =>
  payment({ headers: { 'request-timestamp': stamps } })
/** Nothing is refused for it: the payment is in no state to be captured. */
const ignored = (name: string, ...values: readonly string[]) =>
  on('payment', 'capture', {}, { headers: { [name]: values } })
const HEX = '0'.repeat(64)

// prettier-ignore
const table: Table = {
  'invalid-state': {
    'to capture what is captured': on('payment', 'capture', {}),
    'to capture what was declined': on('declined-payment', 'capture', {}),
    'to capture what is canceled': on('canceled-payment', 'capture', { amount: 1 }),
    'to cancel what is captured': on('payment', 'cancel', {}),
    'to cancel what was declined': on('declined-payment', 'cancel', {}),
    'to cancel again': on('canceled-payment', 'cancel', { reason: 'duplicate' }),
    'to refund what is held': on('held-payment', 'refunds', {}),
    'to refund what was declined': on('declined-payment', 'refunds', {}),
    'to refund what is canceled': on('canceled-payment', 'refunds', { amount: 1 }),
    'a preference that nobody knows': ignored('prefer', 'nonsense'),
    'a wait that is no number': ignored('prefer', 'wait=soon'),
    'a wait below zero': ignored('prefer', 'wait=-1'),
    'a wait for ever': ignored('prefer', 'wait=99999999999999999999'),
    'a wait in quotes without an end': ignored('prefer', 'wait="1'),
    'ten thousand quotes of preferences': ignored('prefer', '"\\'.repeat(5_000)),
    'a hundred preferences': ignored('prefer', ...Array.from({ length: 100 }, () => 'wait=1')),
    'a trace that is none': ignored('traceparent', 'nonsense'),
    'a trace of zeros': ignored('traceparent', `00-${'0'.repeat(32)}-${'0'.repeat(16)}-01`),
    'a trace of a version that is none': ignored('traceparent', `ff-${'1'.repeat(32)}-${'1'.repeat(16)}-01`),
    'two traces': ignored('traceparent', '00-1', '00-2'),
    'a state of a trace': ignored('tracestate', 'a=b,'.repeat(200)),
    'baggage': ignored('baggage', 'tenant={{other-tenant}}'),
    'a language that is none': ignored('accept-language', '*;q=x'),
    'a type that is not to be had': ignored('accept', 'image/png'),
    'an address that is not the sender’s': ignored('x-forwarded-for', '127.0.0.1'),
    'another host': ignored('x-forwarded-host', 'evil.invalid'),
    'a range': ignored('range', 'bytes=0-1'),
    'a condition': ignored('if-match', '"x"'),
    'an upgrade': ignored('upgrade', 'websocket'),
  },
  'refund-exceeds-capture': {
    'more than is left': on('payment', 'refunds', { amount: 1_500 }),
    'all that was captured': on('payment', 'refunds', { amount: 1_999 }),
    'as much as there can be': on('payment', 'refunds', { amount: 99_999_999 }),
  },
  'capture-exceeds-authorization': {
    'one more than is held': on('held-payment', 'capture', { amount: 1_501 }),
    'as much as there can be to capture': on('held-payment', 'capture', { amount: 99_999_999 }),
  },
  'request-timestamp-invalid': {
    'an empty time': stamped(''),
    'a time without a signature': stamped('t=1767225600'),
    'a signature without a time of a request': stamped(`v1=${HEX}`),
    'a wrong signature of a request': stamped(`t=1767225600,v1=${HEX}`),
    'a signature in upper case': stamped(`t=1767225600,v1=${'A'.repeat(64)}`),
    'a signature that is too long': stamped(`t=1767225600,v1=${HEX}0`),
    'a time below zero': stamped(`t=-1,v1=${HEX}`),
    'a time of thirteen digits': stamped(`t=1767225600000,v1=${HEX}`),
    'parts the other way round': stamped(`v1=${HEX},t=1767225600`),
    'two times': stamped('{{request-timestamp}}', '{{request-timestamp}}'),
  },
  'request-too-old': {
    'an hour ago': stamped('{{late-request-timestamp}}'),
    'an hour ahead': stamped('{{early-request-timestamp}}'),
  },
}

export const states: readonly Case[] = casesOf('states and headers', table)
