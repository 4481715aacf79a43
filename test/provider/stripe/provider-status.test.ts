// Tests the provider status of a payment, read through the adapter from a server that returns any answer
// that a test chooses.
import { expect, test } from '@jest/globals'
import { confirmProviderStatus } from '../../../src/provider/stripe/answers.ts'
import { adapterFor, authorized, identityOf, paymentOf } from './adapter-calls.ts'
import { providerOfFile } from '../../support/own-provider.ts'

const provider = providerOfFile()

const payment = paymentOf({ providerPaymentId: 'pi_held' })
const error = {
  type: 'card_error',
  code: 'card_declined',
  decline_code: 'lost_card',
  message: 'No.',
}

/** An intent of this payment as Stripe sends it. A test overrides the relevant members. */
function providerStatus(members: Record<string, unknown>) {
  const intent = {
    id: 'pi_held',
    object: 'payment_intent',
    amount: payment.amountMinor,
    currency: payment.currency,
    amount_capturable: 0,
    amount_received: 0,
    last_payment_error: null,
    ...members,
  }
  return confirmProviderStatus(payment, intent as never, {})
}

test.each([
  [{ status: 'requires_action' }, { status: 'undecided' }],
  [{ status: 'processing' }, { status: 'undecided' }],
  [
    { status: 'requires_capture', amount_capturable: 1999 },
    { status: 'held', captureBefore: null },
  ],
  [
    { status: 'succeeded', amount_received: 1999 },
    { status: 'captured', amountCapturedMinor: 1999 },
  ],
  [
    { status: 'succeeded', amount_received: 1 },
    { status: 'captured', amountCapturedMinor: 1 },
  ],
  [{ status: 'canceled' }, { status: 'canceled', reason: null }],
  [
    { status: 'canceled', cancellation_reason: 'expired' },
    { status: 'canceled', reason: 'expired' },
  ],
  [
    { status: 'canceled', cancellation_reason: 'void_invoice' },
    { status: 'canceled', reason: null },
  ],
  [
    { status: 'canceled', cancellation_reason: 7 },
    { status: 'canceled', reason: null },
  ],
  [
    { status: 'requires_payment_method', last_payment_error: error },
    {
      status: 'refused',
      failure: { code: 'card_declined', declineCode: 'lost_card', message: 'No.' },
    },
  ],
])('%j has the provider status %j', (members, value) => {
  expect(providerStatus(members)).toMatchObject({ outcome: 'done', value })
})

test.each([
  { status: 'requires_capture', amount_capturable: 1998 },
  { status: 'succeeded', amount_received: 0 },
  { status: 'succeeded', amount_received: 2000 },
  { status: 'succeeded', amount_received: '1999' },
  { status: 'requires_payment_method' },
  { status: 'requires_confirmation' },
  { status: 'of another age' },
  { status: 'canceled', id: 'pi_other' },
  { status: 'canceled', amount: 2000 },
  { status: 'canceled', currency: 'jpy' },
  { status: 'canceled', object: 'charge' },
])('%j proves nothing, and the look can be repeated', (members) => {
  expect(providerStatus(members)).toMatchObject({ outcome: 'not_executed' })
})

const chargeWith = (card: unknown) => ({ id: 'ch_1', payment_method_details: { card } })

test.each([
  [chargeWith({ capture_before: 1_800_000_000 }), new Date(1_800_000_000_000)],
  [chargeWith({}), null],
  [chargeWith({ capture_before: '1800000000' }), null],
  [chargeWith({ capture_before: 1.5 }), null],
  [chargeWith({ capture_before: -1 }), null],
  [chargeWith({ capture_before: 1e300 }), null],
  [chargeWith(null), null],
  [{ payment_method_details: null }, null],
  ['ch_1', null],
  [null, null],
])('with the charge %j a hold ends at %s', (charge, captureBefore) => {
  const held = { status: 'requires_capture', amount_capturable: 1999, latest_charge: charge }

  expect(providerStatus(held)).toMatchObject({ value: { status: 'held', captureBefore } })
})

test('reads a payment that is held and then captured at the provider', async () => {
  const adapter = adapterFor(provider.url)
  const held = await authorized(adapter)

  expect(await adapter.retrieve(held)).toMatchObject({
    outcome: 'done',
    value: { status: 'held', captureBefore: expect.any(Date) },
    asked: { call: 'payment_intents.retrieve', payment_id: held.providerPaymentId },
    answered: { status: 200, payment_status: 'requires_capture' },
  })
  await adapter.calls.capture.execute({ payment: held, amountMinor: 700 }, identityOf('started'))
  expect(await adapter.retrieve(held)).toMatchObject({
    value: { status: 'captured', amountCapturedMinor: 700 },
  })
})

test.each(['reset_before', 'hang_after', 'truncated_body'])(
  'a look that meets %s can be repeated',
  async (fault) => {
    const held = await authorized(adapterFor(provider.url))
    await provider.addFault({ match: { method: 'GET' }, fault })

    expect((await adapterFor(provider.url, 300).retrieve(held)).outcome).toBe('not_executed')
    await provider.control('DELETE', '/faults')
  },
)
