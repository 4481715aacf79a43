// The Idempotency-Key header: bare and as an RFC 9651 string, its length, and repeated headers.
import { type Case, utf8 } from '../draft.ts'
import { casesOf, GOOD_PAYMENT, payment, post, type Table } from './requests.ts'

const keyed = (...keys: readonly string[]) => payment({ headers: { 'idempotency-key': keys } })

/** A payment that says when it was first sent; null removes a header. */
const sent = (headers: Readonly<Record<string, string | readonly string[] | null>>) =>
  payment({ headers: { 'repeatability-first-sent': 'Fri, 27 Nov 2026 08:49:37 GMT', ...headers } })
const unkeyed = { headers: { 'idempotency-key': null } }

// prettier-ignore
const table: Table = {
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

export const idempotencyKeys: readonly Case[] = casesOf('Idempotency-Key', table)
