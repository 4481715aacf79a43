// Tests which requests count as events of Stripe, and which part of them is kept.
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from '@jest/globals'
import Stripe from 'stripe'
import { showPaymentId } from '../../../src/domain/payments/payment.ts'
import { createStripeEventReader } from '../../../src/provider/stripe/webhooks.ts'
import { problemOf } from '../../support/problem-of.ts'

const SECRET = 'whsec_test'
const NOW_SECONDS = 1_800_000_000

const read = createStripeEventReader({ secret: SECRET, now: () => NOW_SECONDS * 1_000 })

const tenantId = randomUUID()
const paymentId = randomUUID()
const metadata = { atomic_tenant: tenantId, atomic_payment: showPaymentId(paymentId) }

/** A body as Stripe sends it. A test overrides the relevant members. */
function eventBody(members: Record<string, unknown> = {}, object: unknown = intent()): string {
  return JSON.stringify({
    id: 'evt_1',
    object: 'event',
    type: 'payment_intent.succeeded',
    created: NOW_SECONDS - 60,
    data: { object },
    ...members,
  })
}

function intent(members: Record<string, unknown> = {}) {
  return { id: 'pi_1', object: 'payment_intent', metadata, ...members }
}

function sign(payload: string, { secret = SECRET, timestamp = NOW_SECONDS } = {}): string {
  return Stripe.webhooks.generateTestHeaderString({ payload, secret, timestamp })
}

const readSigned = (body: string) => read(Buffer.from(body), sign(body))
const typeOfProblem = (body: string, signature: string | undefined) =>
  problemOf(() => read(Buffer.from(body), signature)).type

describe('a signed event', () => {
  test.each([
    ['a charge names its intent', { id: 'ch_1', object: 'charge', payment_intent: 'pi_7' }, 'pi_7'],
    ['a refund names its intent', { id: 're_1', object: 'refund', payment_intent: 'pi_7' }, 'pi_7'],
    [
      'an expanded intent is an intent',
      { id: 'ch_1', object: 'charge', payment_intent: { id: 'pi_7' } },
      'pi_7',
    ],
    ['a customer has none', { id: 'cus_1', object: 'customer' }, null],
    ['a balance has not even an id', { object: 'balance' }, null],
  ])('%s', (_title, object, providerPaymentId) => {
    expect(readSigned(eventBody({}, object))).toMatchObject({ providerPaymentId, subject: null })
  })

  test.each([
    ['no metadata', undefined],
    ['metadata of another service', { order: '7' }],
    ['a tenant that is none', { ...metadata, atomic_tenant: 'tenant' }],
    ['a payment that is none', { ...metadata, atomic_payment: 'pay_1' }],
    ['a payment without its tenant', { atomic_payment: metadata.atomic_payment }],
  ])('with %s names no payment of ours', (_title, other) => {
    expect(readSigned(eventBody({}, intent({ metadata: other }))).subject).toBeNull()
  })

  test('has two signatures while its secret is rolled, of which one is enough', () => {
    const body = eventBody()
    const [, old] = sign(body, { secret: 'whsec_old' }).split(',')

    expect(read(Buffer.from(body), `${sign(body)},${old}`).id).toBe('evt_1')
  })
})

describe('the age of a signature', () => {
  test.each([
    ['signed now', 0],
    ['signed 300 seconds ago', 300],
    ['signed by a clock that is 300 seconds ahead', -300],
  ])('%s: accepted', (_title, age) => {
    const body = eventBody()

    const event = read(Buffer.from(body), sign(body, { timestamp: NOW_SECONDS - age }))

    expect(event.id).toBe('evt_1')
  })

  test.each([301, -301])('signed %d seconds ago: too old', (age) => {
    const body = eventBody()
    const signature = sign(body, { timestamp: NOW_SECONDS - age })

    expect(typeOfProblem(body, signature)).toBe('webhook-too-old')
  })

  test('an old signature with another secret is wrong, not too old', () => {
    const body = eventBody()
    const options = { secret: 'whsec_other', timestamp: NOW_SECONDS - 301 }

    expect(typeOfProblem(body, sign(body, options))).toBe('webhook-signature-invalid')
  })
})

describe('a request without a valid signature is refused:', () => {
  const body = eventBody()

  test.each([
    ['no header of Stripe', body, 'Bearer sk_1'],
    ['a body with one more space', `${body} `, sign(body)],
    ['a changed time', body, sign(body).replace(`t=${NOW_SECONDS}`, `t=${NOW_SECONDS + 1}`)],
    ['an older scheme', body, sign(body).replace('v1=', 'v0=')],
  ])('%s', (_title, sent, signature) => {
    expect(typeOfProblem(sent, signature)).toBe('webhook-signature-invalid')
  })
})

test.each([
  ['a thin event', eventBody({ object: 'v2.core.event' })],
  ['no id', eventBody({ id: undefined })],
  ['an id with a NUL', eventBody({ id: 'evt_\u0000' })],
  ['no type', eventBody({ type: 7 })],
  ['no time', eventBody({ created: 'now' })],
  ['a time beyond all calendars', eventBody({ created: 1e15 })],
  ['no data', eventBody({ data: null })],
  ['no object in its data', eventBody({}, 'pi_1')],
])('a signed body that is not an event is malformed: %s', (_title, body) => {
  expect(typeOfProblem(body, sign(body))).toBe('webhook-malformed')
})
