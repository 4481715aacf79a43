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
    'missing for a capture': post('/v1/payments/{{held-payment}}/capture', null, unkeyed),
    'missing for a cancellation': post('/v1/payments/{{held-payment}}/cancel', {}, unkeyed),
    'missing for a refund': post('/v1/payments/{{payment}}/refunds', {}, unkeyed),
    'missing for an endpoint': post('/v1/webhook-endpoints', { url: 'https://fuzz.invalid/' }, unkeyed),
    'missing for a change of an endpoint': post('/v1/webhook-endpoints/{{webhook-endpoint}}', {}, unkeyed),
    'missing for the deletion of an endpoint': post('/v1/webhook-endpoints/{{webhook-endpoint}}', null, { method: 'DELETE', ...unkeyed }),
    'missing for the rotation of a secret': post('/v1/webhook-endpoints/{{webhook-endpoint}}/rotate-secret', null, unkeyed),
    'missing for a test event': post('/v1/webhook-endpoints/{{webhook-endpoint}}/test', null, unkeyed),
    'missing for a replay': post('/v1/webhook-endpoints/{{webhook-endpoint}}/replay', { since: '2026-01-31T12:00:00Z' }, unkeyed),
    'missing to disable an endpoint': post('/v1/webhook-endpoints/{{webhook-endpoint}}', { disabled: true }, unkeyed),
    'missing for a redelivery': post('/v1/webhook-deliveries/{{webhook-delivery}}/redeliver', null, unkeyed),
    'only in the body': payment({ ...unkeyed, body: { ...GOOD_PAYMENT, idempotency_key: 'k' } }),
    'only in the query': payment({ ...unkeyed, target: '/v1/payments?idempotency_key=k' }),
    'in another header': payment({ headers: { 'idempotency-key': null, 'x-idempotency-key': 'k' } }),
  },
  'idempotency-key-empty': {
    'empty': keyed(''),
    'spaces': keyed('   '),
    'a tab': keyed('\t'),
    'empty, in quotes': keyed('""'),
    'empty, with a parameter': keyed('"";a=1'),
  },
  'idempotency-key-too-long': {
    '256 characters': keyed('{{letters-256}}'),
    '256 characters in quotes': keyed('"{{letters-256}}"'),
    'ten thousand characters': keyed('{{letters-10000}}'),
    '256 escaped quotes': keyed(`"${'\\"'.repeat(256)}"`),
  },
  'idempotency-key-malformed': {
    'two words': keyed('two words'),
    'a tab inside': keyed('two\twords'),
    'an unclosed quote': keyed('"abc'),
    'a lone quote': keyed('"'),
    'a second closing quote': keyed('"abc""'),
    'text after the quotes': keyed('"abc"def'),
    'an escaped letter': keyed('"a\\bc"'),
    'an escape at the end': keyed('"abc\\"'),
    'a tab in quotes': keyed('"a\tb"'),
    'a parameter in upper case': keyed('"abc";V=1'),
    'a parameter without a name': keyed('"abc";=1'),
    'a comma after the quotes': keyed('"abc",'),
    'UTF-8': keyed(utf8('cl\u00E9')),
    'Latin-1': keyed('cl\u00E9'),
    'Latin-1 in quotes': keyed('"cl\u00E9"'),
    'a leading no-break space': keyed('\u00A0key'),
    'an emoji': keyed(utf8('\u{1F600}')),
    'a right-to-left mark': keyed(utf8('key\u200F')),
    'a dot': keyed('.'),
    'two dots in quotes': keyed('".."'),
  },
  'idempotency-key-repeated': {
    'two keys': keyed('one', 'two'),
    'the same key twice': keyed('one', 'one'),
    'an empty key and a key': keyed('', 'one'),
    'two keys in one header line': keyed('one, two'),
    'two quoted keys in one header line': keyed('"one", "two"'),
    'two quoted keys without a space': keyed('"one","two"'),
    'a dozen keys': keyed(...Array.from({ length: 12 }, (_, index) => `key-${index}`)),
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
    'another body, in quotes': payment({ headers: { 'idempotency-key': '"{{used-key}}"' }, body: { ...GOOD_PAYMENT, currency: 'eur' } }),
    'another body, with a wait': payment({ headers: { 'idempotency-key': '{{used-key}}', prefer: 'wait=2' }, body: { ...GOOD_PAYMENT, amount: 1 } }),
    'another operation, without a provider call': post('/v1/webhook-endpoints', { url: 'https://fuzz.invalid/' }, { headers: { 'idempotency-key': '{{used-key}}' } }),
  },
}

export const idempotencyKeys: readonly Case[] = casesOf('Idempotency-Key', table)
