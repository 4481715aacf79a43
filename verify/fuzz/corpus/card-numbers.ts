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

export const cardNumbers: readonly Case[] = casesOf('card numbers', table)
