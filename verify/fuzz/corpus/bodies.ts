// Bodies that are not JSON, or JSON that two parsers could read differently; fields of the wrong type,
// format, length or range; card numbers in every part of a request and in every usual notation.
import { type Case, utf8 } from '../draft.ts'
import type { Table } from './requests.ts'
import { adminPost, casesOf, payment, paymentOf, paymentWith, post } from './requests.ts'

const REST = '"currency":"usd","payment_method":"pm_card_visa"'
const GOOD = `{"amount":1999,${REST}}`
const withField = (name: string, value: string) =>
  paymentOf(`{"amount":1999,${REST},"${name}":${value}}`)
const rawlyDescribed = (text: string) => withField('description', `"${text}"`)

const objects = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`

// prettier-ignore
const json: Table = {
  'malformed-json': {
    'no bytes': paymentOf(''),
    'only spaces': paymentOf('   \r\n'),
    'null': paymentOf('null'),
    'an array': paymentOf(`[${GOOD}]`),
    'an object that ends early': paymentOf(GOOD.slice(0, -1)),
    'a trailing comma': paymentOf(`{"amount":1999,${REST},}`),
    'a comment': paymentOf(`{/* cents */"amount":1999,${REST}}`),
    'NaN': paymentOf(`{"amount":NaN,${REST}}`),
    'a leading zero': paymentOf(`{"amount":01999,${REST}}`),
    'a line break in a string': rawlyDescribed('a\nb'),
    'a byte order mark': paymentOf(utf8('\uFEFF') + GOOD),
    'UTF-16 with a byte order mark': paymentOf(`\u00FF\u00FE${GOOD.replaceAll(/./g, '$&\0')}`),
    'a byte that is never UTF-8': rawlyDescribed('\u00FF'),
    'a no-break space outside strings': paymentOf(`{${utf8('\u00A0')}"amount":1999,${REST}}`),
  },
  'duplicate-member': {
    'an amount twice': paymentOf(`{"amount":1,"amount":1999,${REST}}`),
    'an amount twice, once escaped': paymentOf(`{"amount":1,"\\u0061mount":1999,${REST}}`),
    '__proto__ twice': withField('metadata', '{"__proto__":"1","__proto__":"2"}'),
  },
  'nesting-too-deep': {
    '21 levels of objects': paymentOf(objects(21)),
    '21 levels of arrays': withField('metadata', `${'['.repeat(20)}${']'.repeat(20)}`),
    'brackets that never end': paymentOf('{{brackets-60000}}'),
    'arrays that fill the body': paymentOf(`{"a":${'['.repeat(30_000)}${']'.repeat(30_000)}}`),
    'objects that never end': paymentOf('{"a":'.repeat(12_000)),
  },
  'forbidden-character': {
    'UTF-16 without a byte order mark, so every other byte is NUL': paymentOf(GOOD.replaceAll(/./g, '$&\0')),
    'UTF-32': paymentOf(GOOD.replaceAll(/./g, '\0\0\0$&')),
    'an escaped NUL': rawlyDescribed('a\\u0000b'),
    'NUL as a byte': rawlyDescribed('a\0b'),
    'a lone high surrogate': rawlyDescribed('\\ud800'),
    'a deeply nested lone surrogate': withField('metadata', '{"a":[[["\\ud83d"]]]}'),
  },
  'unknown-field': {
    '__proto__': withField('__proto__', '{"amount":1}'),
    '__proto__ in metadata': withField('metadata', '{"__proto__":"x"}'),
    'constructor': withField('constructor', '{"prototype":{"amount":1}}'),
    'an empty name': withField('', '1'),
    'a name with a Cyrillic lookalike': withField('\\u0430mount', '1'),
    'a name with a zero-width character': withField('amount\\u200b', '1'),
    'a number beyond the largest double': withField('extra', '1e400'),
  },
}

const amountOf = (amount: string) => paymentOf(`{"amount":${amount},${REST}}`)
const named = (names: number) =>
  Object.fromEntries(Array.from({ length: names }, (_, index) => [`n${index}`, 'x']))

const refund = (body: object) => post('/v1/payments/{{payment}}/refunds', body)
const capture = (body: object | string) => post('/v1/payments/{{held-payment}}/capture', body)
const cancel = (body: object) => post('/v1/payments/{{held-payment}}/cancel', body)
const endpoint = (body: object) => post('/v1/webhook-endpoints', body)
const change = (body: object | null) => post('/v1/webhook-endpoints/{{webhook-endpoint}}', body)
const replay = (body: object) => post('/v1/webhook-endpoints/{{webhook-endpoint}}/replay', body)
const URL = 'https://fuzz.invalid/'

// prettier-ignore
const fields: Table = {
  'secret-refused': {
    'an API key as the amount': amountOf('"{{tenant-key}}"'),
    'an API key as the currency': paymentWith({ currency: '{{tenant-key}}' }),
    'an API key as the capture method': paymentWith({ capture_method: '{{tenant-key}}' }),
  },
  'invalid-amount': {
    'zero': amountOf('0'),
    'minus zero': amountOf('-0'),
    'one half': amountOf('0.5'),
    'an integer with a decimal point': amountOf('1999.0'),
    'an integer with an exponent': amountOf('1999e0'),
    'one more than the maximum': amountOf('100000000'),
    'beyond the largest exact integer': amountOf('9007199254740993'),
    'beyond the largest double': amountOf('1e400'),
    'too small to differ from zero': amountOf('1e-400'),
    'one with four hundred decimal zeros': amountOf(`1.${'0'.repeat(400)}`),
    'a string': amountOf('"1999"'),
    'a refund of zero': refund({ amount: 0 }),
    'a capture of zero': capture({ amount: 0 }),
    'a capture of a fraction': capture('{"amount":1.0}'),
    'a fraction of a krona': paymentWith({ amount: 550, currency: 'isk' }),
    'a last digit that is not 0 in dinars': paymentWith({ amount: 5_124, currency: 'kwd' }),
    'a refund whose last digit is not 0 in dinars': post('/v1/payments/{{dinar-payment}}/refunds', { amount: 1_001 }),
    'a capture of a fraction of a krona': post('/v1/payments/{{held-krona-payment}}/capture', { amount: 49_950 }),
  },
  'amount-too-small': {
    'one less than the minimum': paymentWith({ amount: 49 }),
    'one less than the minimum in pesos': paymentWith({ amount: 999, currency: 'mxn', capture_method: 'manual' }),
  },
  'unknown-currency': {
    'upper case': paymentWith({ currency: 'USD' }),
    'an unknown code': paymentWith({ currency: 'xxx' }),
    'gold': paymentWith({ currency: 'xau' }),
    'a withdrawn currency': paymentWith({ currency: 'dem' }),
    'four letters': paymentWith({ currency: 'usdt' }),
    'a trailing space': paymentWith({ currency: 'usd ' }),
    'a trailing line break': paymentWith({ currency: 'usd\n' }),
    'a dotless i': paymentWith({ currency: '\u0131nr' }),
    'a member of Object.prototype': paymentWith({ currency: 'constructor' }),
  },
  'invalid-field': {
    'an empty object': paymentOf('{}'),
    'no amount': paymentWith({ amount: undefined }),
    'no currency': paymentWith({ currency: undefined }),
    'no payment method': paymentWith({ payment_method: undefined }),
    'a number as the currency': paymentWith({ currency: 840 }),
    'an empty payment method': paymentWith({ payment_method: '' }),
    'a payment method of 256 characters': paymentWith({ payment_method: 'p'.repeat(256) }),
    'a payment method with a space': paymentWith({ payment_method: 'pm card' }),
    'a payment method with a line break': paymentWith({ payment_method: 'pm_card_visa\n' }),
    'a payment method outside ASCII': paymentWith({ payment_method: 'pm_caf\u00E9' }),
    'an unknown capture method': paymentWith({ capture_method: 'later' }),
    'an empty customer': paymentWith({ customer: '' }),
    'a customer of 256 characters': paymentWith({ customer: 'c'.repeat(256) }),
    'a customer that contains a path': paymentWith({ customer: 'cus 1/../2' }),
    'a description of 1001 characters': paymentWith({ description: 'd'.repeat(1_001) }),
    'a description of 2000 bytes and 1001 characters': paymentOf(
      `{"amount":1999,${REST},"description":"${utf8('\u00E9').repeat(1_001)}"}`,
    ),
    'metadata with 46 names': paymentWith({ metadata: named(46) }),
    'metadata with thousands of names': paymentWith({ metadata: named(4_000) }),
    'metadata with an empty name': paymentWith({ metadata: { '': 'x' } }),
    'metadata with a name of 41 characters': paymentWith({ metadata: { ['n'.repeat(41)]: 'x' } }),
    'metadata with brackets in a name': paymentWith({ metadata: { 'a[b]': 'x' } }),
    'metadata with a reserved name': paymentWith({ metadata: { atomic_payment: 'x' } }),
    'metadata with a number': paymentWith({ metadata: { a: 1 } }),
    'metadata with a value of 501 characters': paymentWith({ metadata: { a: 'v'.repeat(501) } }),
    'an unknown refund reason': refund({ reason: 'because' }),
    'refund metadata with a reserved name': refund({ metadata: { atomic_refund: 'x' } }),
    'an unknown cancellation reason': cancel({ reason: 'because' }),
    'no URL': endpoint({ event_types: ['*'] }),
    'an empty URL': endpoint({ url: '' }),
    'a URL of 2049 characters': endpoint({ url: URL + 'x'.repeat(2_049 - URL.length) }),
    'no event types': endpoint({ url: URL, event_types: [] }),
    'an unknown event type': endpoint({ url: URL, event_types: ['payment.*'] }),
    'the same event type twice': endpoint({ url: URL, event_types: ['*', '*'] }),
    'a string that says whether an endpoint is disabled': change({ disabled: 'true' }),
    'no moment for a replay': replay({}),
    'a date for a replay': replay({ since: '2026-01-31' }),
    'a moment without a zone for a replay': replay({ since: '2026-01-31T12:00:00' }),
    'thousands of event types': endpoint({ url: URL, event_types: Array(3_000).fill('*') }),
  },
  'unknown-field': {
    'an unknown field': paymentWith({ color: 'red' }),
    'a tenant id': paymentWith({ tenant_id: 'x' }),
    'an unknown field beside a wrong amount': paymentWith({ amount: -1, color: 'red' }),
    'a currency for a refund': refund({ currency: 'eur' }),
    'an amount for a cancellation': cancel({ amount: 1 }),
    'a chosen secret for an endpoint': endpoint({ url: URL, secret: 'whsec_mine' }),
    'a status for a change of an endpoint': change({ status: 'enabled' }),
    'an event type for a test event': post('/v1/webhook-endpoints/{{webhook-endpoint}}/test', { type: 'payment.succeeded' }),
    'a limit for a replay': replay({ since: '2026-01-31T12:00:00Z', limit: 1 }),
    'a field in a delete': post('/v1/webhook-endpoints/{{webhook-endpoint}}', { force: true }, { method: 'DELETE' }),
    'a chosen secret for a rotation': post('/v1/webhook-endpoints/{{webhook-endpoint}}/rotate-secret', { secret: 'x' }),
    'a URL for a redelivery': post('/v1/webhook-deliveries/{{webhook-delivery}}/redeliver', { url: URL }),
  },
}

const VISA = '4242424242424242'
const DIGITS = VISA.split('')
const API_KEY = `sk_atomic_${'0a'.repeat(19)}`
const described = (description: string) => paymentWith({ description })

// prettier-ignore
const cardNumbers: Table = {
  'card-number-refused': {
    'as the payment method': paymentWith({ payment_method: VISA }),
    'after the prefix of a payment method': paymentWith({ payment_method: `pm_${VISA}` }),
    'as the amount': paymentWith({ amount: Number(VISA) }),
    'as the currency': paymentWith({ currency: VISA }),
    'in an unknown field': paymentWith({ card: { number: '5105105105105100' } }),
    'in a sentence': described(`card ${VISA}, thanks`),
    'in circled digits': described('\u2463\u2461'.repeat(8)),
    'escaped': paymentOf(
      `{"amount":1,"currency":"usd","payment_method":"pm","description":"${DIGITS.map((digit) => `\\u003${digit}`).join('')}"}`,
    ),
    'after a long text': described('x'.repeat(900) + VISA),
    'after digits that are not a card number': described(`1234567890123456 ${VISA}`),
    'as the Idempotency-Key': payment({ headers: { 'idempotency-key': VISA } }),
    'with spaces in an Idempotency-Key': payment({ headers: { 'idempotency-key': '"4242 4242 4242 4242"' } }),
    'as the refund reason': post('/v1/payments/{{payment}}/refunds', { reason: VISA }),
    'in the URL of an endpoint': post('/v1/webhook-endpoints', { url: `https://fuzz.invalid/${VISA}` }),
    'in the note on a finding': adminPost('/admin/findings/{{finding}}/resolve', { note: `seen ${VISA}` }),
    'as a provider id': adminPost('/admin/operations/{{operation}}/resolve', { outcome: 'happened', provider_id: `pi_${VISA}`, note: 'seen' }),
  },
  'secret-refused': {
    'an API key in a sentence': described(`use ${API_KEY} here`),
    'an API key as the Idempotency-Key': payment({ headers: { 'idempotency-key': API_KEY } }),
    'an operator key in metadata': paymentWith({ metadata: { note: `adm_${'0a'.repeat(12)}` } }),
    'a webhook secret in the description of an endpoint': post('/v1/webhook-endpoints', { url: 'https://fuzz.invalid/', description: `whsec_${'0a'.repeat(12)}` }),
    'a key of Stripe as the refund reason': post('/v1/payments/{{payment}}/refunds', { reason: `sk_live_${'0a'.repeat(12)}` }),
    'an API key in the note on a finding': adminPost('/admin/findings/{{finding}}/resolve', { note: API_KEY }),
  },
}

export const bodies: readonly Case[] = [
  ...casesOf('JSON', json),
  ...casesOf('fields', fields),
  ...casesOf('card numbers', cardNumbers),
]
