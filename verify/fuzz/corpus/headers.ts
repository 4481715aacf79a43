// API keys that are missing, invalid or without the scope; the Idempotency-Key header, bare and as an
// RFC 9651 string; requests that the payment's status or amount refuses, with headers that the service
// ignores, and invalid timestamps.
import { type Case, utf8 } from '../draft.ts'
import type { Change, Table } from './requests.ts'
import { adminGet, adminPost, casesOf, get, GOOD_PAYMENT, payment, post } from './requests.ts'

const withKeys = (...lines: readonly string[]) => ({ headers: { authorization: lines } })
const authorized = (...lines: readonly string[]) => payment(withKeys(...lines))
const KEYLESS = { headers: { authorization: null } }

// prettier-ignore
const authorization: Table = {
  'api-key-missing': {
    'no header': payment(KEYLESS),
    'no headers at all': payment({ headers: { authorization: null, 'idempotency-key': null, 'content-type': null }, body: '' }),
    'in a cookie': get('/v1/payments', { headers: { authorization: null, cookie: 'authorization={{tenant-key}}' } }),
    'in another header': get('/v1/payments', { headers: { authorization: null, 'x-api-key': '{{tenant-key}}' } }),
  },
  'api-key-invalid': {
    'only a scheme': authorized('Bearer'),
    'the scheme twice': authorized('Bearer Bearer {{tenant-key}}'),
    'a colon': authorized('Bearer: {{tenant-key}}'),
    'two keys': authorized('Bearer {{tenant-key}}', 'Bearer {{other-tenant-key}}'),
    'two keys in one header line': authorized('Bearer {{tenant-key}}, Bearer {{tenant-key}}'),
    'unknown, with a wrong checksum': authorized('Bearer sk_atomic_{{letters-38}}'),
    'of ten thousand characters': authorized('Bearer sk_{{letters-10000}}'),
    'a webhook secret': authorized('Bearer {{webhook-secret}}'),
  },
  'scope-missing': {
    'reported before all other errors': payment({ headers: { authorization: 'Bearer {{events-key}}', 'idempotency-key': null, 'content-type': 'text/plain' }, body: 'nonsense' }),
  },
  'operator-key-invalid': {
    'operator route: no header': adminGet('/admin/operations', KEYLESS),
    'operator route: in the query': adminGet('/admin/operations?key={{admin-key}}', KEYLESS),
    "operator route: a tenant's API key, for a new tenant": adminPost('/admin/tenants', { name: 'mine' }, withKeys('Bearer {{tenant-key}}')),
  },
}

const keyed = (...keys: readonly string[]) => payment({ headers: { 'idempotency-key': keys } })

/** A payment that says when it was first sent; null removes a header. */
const sent = (headers: Readonly<Record<string, string | readonly string[] | null>>) =>
  payment({ headers: { 'repeatability-first-sent': 'Fri, 27 Nov 2026 08:49:37 GMT', ...headers } })
const unkeyed = { headers: { 'idempotency-key': null } }

// prettier-ignore
const idempotencyKeys: Table = {
  'idempotency-key-missing': {
    'missing for a payment': payment(unkeyed),
    'only in the body': payment({ ...unkeyed, body: { ...GOOD_PAYMENT, idempotency_key: 'k' } }),
    'only in the query': payment({ ...unkeyed, target: '/v1/payments?idempotency_key=k' }),
    'in another header': payment({ headers: { 'idempotency-key': null, 'x-idempotency-key': 'k' } }),
  },
  'idempotency-key-empty': {
    'empty': keyed(''),
    'empty, with a parameter': keyed('"";a=1'),
  },
  'idempotency-key-too-long': {
    '256 characters': keyed('{{letters-256}}'),
  },
  'idempotency-key-malformed': {
    'two words': keyed('two words'),
    'a comma after the quotes': keyed('"abc",'),
    'UTF-8': keyed(utf8('cl\u00E9')),
    'an emoji': keyed(utf8('\u{1F600}')),
    'a right-to-left mark': keyed(utf8('key\u200F')),
    'a dot': keyed('.'),
    'two dots in quotes': keyed('".."'),
  },
  'idempotency-key-repeated': {
    'two keys': keyed('one', 'two'),
    'an empty key and a key': keyed('', 'one'),
  },
  'repeatability-request-id-malformed': {
    'an empty Request-ID': sent({ 'repeatability-request-id': '' }),
    'a Request-ID with a space': sent({ 'repeatability-request-id': 'a b' }),
    'a Request-ID in quotes': sent({ 'repeatability-request-id': '"a"' }),
    'two Request-IDs': sent({ 'repeatability-request-id': ['a', 'a'] }),
    'two dots as a Request-ID': sent({ 'repeatability-request-id': '..' }),
    'a Request-ID of 256 characters': sent({ 'repeatability-request-id': '{{letters-256}}' }),
  },
  'repeatability-first-sent-missing': {
    'a Request-ID alone': sent({ 'repeatability-request-id': '{{new-key}}', 'repeatability-first-sent': null }),
  },
  'repeatability-first-sent-malformed': {
    'a First-Sent in ISO 8601': sent({ 'repeatability-first-sent': '2026-11-27T08:49:37Z' }),
    'an empty First-Sent': sent({ 'repeatability-first-sent': '' }),
    'a First-Sent with the wrong weekday': sent({ 'repeatability-first-sent': 'Mon, 27 Nov 2026 08:49:37 GMT' }),
    'two times of First-Sent': sent({ 'repeatability-first-sent': ['Fri, 27 Nov 2026 08:49:37 GMT', 'Fri, 27 Nov 2026 08:49:37 GMT'] }),
  },
  'repeatability-first-sent-in-future': {
    'first sent in the last second of the calendar': sent({ 'repeatability-first-sent': 'Fri, 31 Dec 9999 23:59:59 GMT' }),
  },
  'repeatability-first-sent-too-old': {
    'first sent in the first second of Unix': sent({ 'repeatability-first-sent': 'Thu, 01 Jan 1970 00:00:00 GMT' }),
    'an endpoint, first sent in the first second of Unix': post('/v1/webhook-endpoints', { url: 'https://fuzz.invalid/' }, { headers: { 'repeatability-first-sent': 'Thu, 01 Jan 1970 00:00:00 GMT' } }),
  },
  'repeatability-keys-differ': {
    'a Request-ID besides another key': sent({ 'repeatability-request-id': 'another' }),
  },
  'repeatability-client-id-unsupported': {
    'a Client-ID': sent({ 'repeatability-client-id': 'client' }),
  },
  'idempotency-key-reused': {
    'another body': payment({ headers: { 'idempotency-key': '{{used-key}}' }, body: { ...GOOD_PAYMENT, amount: 2000 } }),
    'another path': post('/v1/payments/{{payment}}/refunds', {}, { headers: { 'idempotency-key': '{{used-key}}' } }),
    'another body, with a wait': payment({ headers: { 'idempotency-key': '{{used-key}}', prefer: 'wait=2' }, body: { ...GOOD_PAYMENT, amount: 1 } }),
    'another operation, without a provider call': post('/v1/webhook-endpoints', { url: 'https://fuzz.invalid/' }, { headers: { 'idempotency-key': '{{used-key}}' } }),
  },
}

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
const states: Table = {
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

export const headers: readonly Case[] = [
  ...casesOf('authorization', authorization),
  ...casesOf('Idempotency-Key', idempotencyKeys),
  ...casesOf('states and headers', states),
]
