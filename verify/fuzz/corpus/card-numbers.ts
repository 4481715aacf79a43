// Card numbers in every part of a request and in every usual notation.
import type { Case } from '../draft.ts'
import type { Table } from './requests.ts'
import { adminPost, casesOf, payment, paymentOf, paymentWith, post } from './requests.ts'

const VISA = '4242424242424242'
const DIGITS = VISA.split('')
const API_KEY = `sk_atomic_${'0a'.repeat(19)}`
const described = (description: string) => paymentWith({ description })

// prettier-ignore
const table: Table = {
  'card-number-refused': {
    'as the payment method': paymentWith({ payment_method: VISA }),
    'after the prefix of a payment method': paymentWith({ payment_method: `pm_${VISA}` }),
    'as the customer': paymentWith({ customer: '5555555555554444' }),
    'as the amount': paymentWith({ amount: Number(VISA) }),
    'as the currency': paymentWith({ currency: VISA }),
    'as a metadata name': paymentWith({ metadata: { '378282246310005': 'x' } }),
    'as a metadata value': paymentWith({ metadata: { order: '4000056655665556' } }),
    'as a number in metadata': paymentWith({ metadata: { order: 4_000_056_655_665_556 } }),
    'as an unknown field': paymentWith({ '6011111111111117': 'x' }),
    'in an unknown field': paymentWith({ card: { number: '5105105105105100' } }),
    'in nested arrays': paymentWith({ extra: [[[['3056930009020004']]]] }),
    'as the capture method': paymentWith({ capture_method: VISA }),
    'in a sentence': described(`card ${VISA}, thanks`),
    'with spaces': described('4242 4242 4242 4242'),
    'with dashes': described('4242-4242-4242-4242'),
    'with en dashes': described('4242\u20134242\u20134242\u20134242'),
    'with no-break spaces': described('4242\u00A04242\u00A04242\u00A04242'),
    'with zero-width characters': described('4242\u200B4242\u200B4242\u200B4242'),
    'with soft hyphens': described('4242\u00AD4242\u00AD4242\u00AD4242'),
    'with dots': described('4242.4242.4242.4242'),
    'with slashes': described('4242/4242/4242/4242'),
    'in brackets': described('(4242) [4242] {4242} <4242>'),
    'in Arabic digits': described('\u0664\u0662'.repeat(8)),
    'with dots in an Idempotency-Key': payment({ headers: { 'idempotency-key': '4242.4242.4242.4242' } }),
    'with tabs': described('4242\t4242\t4242\t4242'),
    'on four lines': described('4242\n4242\n4242\n4242'),
    'digit by digit': described(DIGITS.join(' ')),
    'in full-width digits': described('\uFF14\uFF12'.repeat(8)),
    'in mathematical digits': described('\u{1D7D2}\u{1D7D0}'.repeat(8)),
    'in circled digits': described('\u2463\u2461'.repeat(8)),
    'in keycap digits': described(DIGITS.map((digit) => `${digit}\uFE0F\u20E3`).join('')),
    'between letters': described(`x${VISA}y`),
    'escaped': paymentOf(
      `{"amount":1,"currency":"usd","payment_method":"pm","description":"${DIGITS.map((digit) => `\\u003${digit}`).join('')}"}`,
    ),
    'after a long text': described('x'.repeat(900) + VISA),
    'after digits that are not a card number': described(`1234567890123456 ${VISA}`),
    'after a UUID': described(`0190e6a0-0000-4000-8000-000000000000 ${VISA}`),
    'of 14 digits': described('36227206271667'),
    'of 15 digits': described('3782 822463 10005'),
    'of a Chinese network': described('6200000000000005'),
    'of a Japanese network': described('3566002020360505'),
    'as the Idempotency-Key': payment({ headers: { 'idempotency-key': VISA } }),
    'with dashes in an Idempotency-Key': payment({ headers: { 'idempotency-key': 'order-4242-4242-4242-4242' } }),
    'with spaces in an Idempotency-Key': payment({ headers: { 'idempotency-key': '"4242 4242 4242 4242"' } }),
    'as the refund reason': post('/v1/payments/{{payment}}/refunds', { reason: VISA }),
    'in refund metadata': post('/v1/payments/{{payment}}/refunds', { metadata: { card: VISA } }),
    'as the amount of a capture': post('/v1/payments/{{held-payment}}/capture', { amount: Number(VISA) }),
    'as the cancellation reason': post('/v1/payments/{{held-payment}}/cancel', { reason: VISA }),
    'in the URL of an endpoint': post('/v1/webhook-endpoints', { url: `https://fuzz.invalid/${VISA}` }),
    'in the description of a changed endpoint': post('/v1/webhook-endpoints/{{webhook-endpoint}}', { description: VISA }),
    'in the description of an endpoint': post('/v1/webhook-endpoints', { url: 'https://fuzz.invalid/', description: VISA }),
    'in the name of a tenant': adminPost('/admin/tenants', { name: VISA }),
    'in the note on a finding': adminPost('/admin/findings/{{finding}}/resolve', { note: `seen ${VISA}` }),
    'in a proof': adminPost('/admin/operations/{{operation}}/resolve', { outcome: 'did_not_happen', proof: VISA }),
    'as a provider id': adminPost('/admin/operations/{{operation}}/resolve', { outcome: 'happened', provider_id: `pi_${VISA}`, note: 'seen' }),
    'as a time': adminPost('/admin/reconciliations', { from: VISA, to: VISA }),
    'as the id of a dead letter': adminPost('/admin/dead-letters/redrive', { queue: 'operations.dead', ids: [VISA] }),
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

export const cardNumbers: readonly Case[] = casesOf('card numbers', table)
