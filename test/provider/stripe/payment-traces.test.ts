// Tests the lookup of a call on a payment whose answer was lost, at the Stripe stand-in, by the
// criteria that the call left there.
import { randomUUID } from 'node:crypto'
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Outcome } from '../../../src/domain/operations/outcome.ts'
import { showPaymentId, type Payment } from '../../../src/domain/payments/payment.ts'
import { showId } from '../../../src/domain/resource-id.ts'
import type { LookupCriteria } from '../../../src/provider/calls.ts'
import type { PaymentProvider } from '../../../src/provider/payment-provider.ts'
import { payment as paying } from '../../dev/stripe-stand-in/running-provider.ts'
import {
  adapterFor,
  authorized,
  captured,
  identityOf,
  paymentOf,
  criteriaOf,
} from './adapter-calls.ts'
import { ownProvider } from '../../support/own-provider.ts'

const T0_MS = 1_800_000_000_000
const HOLD_ENDS = new Date(T0_MS + 7 * 86_400_000)
const SKEW_MS = 300_000

const provider = ownProvider({ systemNow: () => nowMs })
let adapter: PaymentProvider
let nowMs: number

beforeAll(async () => {
  adapter = adapterFor(provider.url)
})
beforeEach(async () => {
  nowMs = T0_MS
})

const plant = (id: string | null, members: object) =>
  provider.control('POST', `/objects/${id}`, members)

describe('an authorization', () => {
  const identity = identityOf('started')
  let asked: Payment
  beforeEach(() => {
    asked = paymentOf()
  })

  /** Makes the call, and returns the id of its object; the answer is lost. */
  async function lose(payment = asked): Promise<string> {
    await adapter.calls.authorize.execute({ payment }, identity)
    const { data } = await provider.stripe.paymentIntents.list({ limit: 1 })
    return data[0]?.id ?? ''
  }

  const find = (criteria: Partial<LookupCriteria> = {}) =>
    adapter.calls.authorize.find({ payment: asked }, criteriaOf(identity, T0_MS, criteria))

  test('that holds the amount is done, with evidence of where it was found', async () => {
    await provider.stripe.paymentIntents.create(paying())
    const id = await lose()

    expect(await find()).toEqual({
      outcome: 'done',
      value: { status: 'held', providerPaymentId: id, captureBefore: HOLD_ENDS },
      asked: {
        call: 'payment_intents.list',
        operation_id: showId('op', identity.operationId),
        created_from: (T0_MS - SKEW_MS) / 1000,
        created_to: (T0_MS + SKEW_MS) / 1000,
      },
      answered: {
        listed: 2,
        payment_id: id,
        payment_status: 'requires_capture',
        amount: 1999,
        capture_before: HOLD_ENDS.toISOString(),
      },
    })
  })

  test('whose cardholder must authenticate is done, with the client secret', async () => {
    asked = paymentOf({ paymentMethod: 'pm_card_threeDSecureRequired' })
    const id = await lose()

    const found = await find()

    const { client_secret: clientSecret } = await provider.stripe.paymentIntents.retrieve(id)
    const value = { status: 'requires_action', providerPaymentId: id, clientSecret }
    expect(found).toMatchObject({ outcome: 'done', value })
    expect(JSON.stringify(found.answered)).not.toContain(clientSecret)
  })

  test('that was declined is declined, with the failure of its card', async () => {
    asked = paymentOf({ paymentMethod: 'pm_card_chargeDeclinedLostCard' })
    const id = await lose()

    expect(await find()).toMatchObject({
      outcome: 'declined',
      failure: { code: 'card_declined', declineCode: 'lost_card', message: expect.any(String) },
      providerPaymentId: id,
    })
  })

  test('that was canceled at the provider is declined, and says so', async () => {
    const id = await lose()
    await provider.stripe.paymentIntents.cancel(id)

    expect(await find()).toMatchObject({
      outcome: 'declined',
      failure: { code: 'canceled', declineCode: null },
      providerPaymentId: id,
    })
  })

  test('that was captured outside of this service is unknown', async () => {
    await provider.stripe.paymentIntents.capture(await lose())

    expect(await find()).toMatchObject({
      outcome: 'unknown',
      reason: expect.stringContaining('succeeded'),
    })
  })

  test.each([
    ['is being processed', { status: 'processing' }],
    ['was never confirmed', { status: 'requires_confirmation' }],
    ['has no method and no error', { status: 'requires_payment_method' }],
    ['holds a part', { amount_capturable: 1000 }],
    ['is in no state', { status: null }],
    [
      'requires authentication without a client secret',
      { status: 'requires_action', client_secret: null },
    ],
    ['is of another amount', { amount: 2000, amount_capturable: 2000 }],
    ['is in another currency', { currency: 'jpy' }],
  ])('that %s is unknown', async (_case, members) => {
    await plant(await lose(), members)

    expect((await find()).outcome).toBe('unknown')
  })

  test.each([
    ['operation', { atomic_operation: randomUUID() }],
    ['payment', { atomic_payment: showPaymentId(randomUUID()) }],
  ])('with the id of another %s is unknown, and never absent', async (_case, other) => {
    const id = await lose()
    const { metadata } = await provider.stripe.paymentIntents.retrieve(id)
    await plant(id, { metadata: { ...metadata, ...other } })

    expect(await find()).toMatchObject({
      outcome: 'unknown',
      answered: { found: [id] },
    })
  })

  test('that exists twice is unknown, with the ids of both', async () => {
    const first = await lose()
    const another = { ...identity, providerKey: 'another' }
    await adapter.calls.authorize.execute({ payment: asked }, another)

    const found = await find()

    expect(found).toMatchObject({ outcome: 'unknown', reason: expect.stringMatching(/^2 objects/) })
    expect(found.answered).toEqual({ listed: 2, found: [expect.any(String), first] })
  })

  test.each([
    ['as early as a clock may be wrong', -SKEW_MS, 'done'],
    ['earlier than that', -SKEW_MS - 1_000, 'not_executed'],
    ['as late as a clock may be wrong', 60_000 + SKEW_MS, 'done'],
    ['later than that', 60_000 + SKEW_MS + 1_000, 'not_executed'],
  ])('that was made %s is searched accordingly', async (_case, offsetMs, outcome) => {
    nowMs = T0_MS + offsetMs
    await lose()

    expect((await find({ executedTo: new Date(T0_MS + 60_000) })).outcome).toBe(outcome)
  })

  describe('whose id at the provider is known', () => {
    const outside = { executedFrom: new Date(0), executedTo: new Date(0) }

    test('is read by it, regardless of its place in a list', async () => {
      const id = await lose()

      expect(await find({ ...outside, providerPaymentId: id })).toMatchObject({
        outcome: 'done',
        value: { status: 'held', providerPaymentId: id },
        asked: { call: 'payment_intents.retrieve', id },
      })
    })

    test.each([
      ['is not there', async () => 'pi_nobody'],
      ['is of another', async () => (await provider.stripe.paymentIntents.create(paying())).id],
    ])('is searched in the list when that %s', async (_case, other) => {
      const id = await lose()
      const known = { providerPaymentId: await other() }

      const found = await find(known)
      asked = paymentOf()
      const none = await find({ ...known, operationId: randomUUID() })

      expect(found).toMatchObject({
        outcome: 'done',
        value: { providerPaymentId: id },
        asked: { call: 'payment_intents.list' },
      })
      expect(none.outcome).toBe('not_executed')
    })

    test('is unknown when it cannot be read, regardless of the list', async () => {
      const path = '/v1/payment_intents/pi_nobody'
      await provider.addFault({ match: { method: 'GET', path }, fault: 'unavailable' })

      expect((await find({ providerPaymentId: 'pi_nobody' })).outcome).toBe('unknown')
    })
  })
})

describe('a capture', () => {
  const find = (payment: Payment, amountMinor = payment.amountMinor) =>
    adapter.calls.capture.find(
      { payment, amountMinor },
      criteriaOf(identityOf('authorized'), T0_MS),
    )

  test('of another amount is unknown', async () => {
    const payment = await captured(adapter)

    expect(await find(payment, 500)).toMatchObject({
      outcome: 'unknown',
      reason: expect.stringContaining('another amount'),
    })
  })

  test('of a canceled payment is declined, as the provider refuses it', async () => {
    const payment = await authorized(adapter)
    const reason = 'requested_by_customer'
    await adapter.calls.cancel.execute({ payment, reason }, identityOf('started'))

    const found = await find(payment)

    const refused = await adapter.calls.capture.execute(
      { payment, amountMinor: 1999 },
      identityOf('authorized'),
    )
    expect(found).toMatchObject({ outcome: 'declined', failure: codesIn(refused) })
    const canceled = { reason }
    expect(found).toMatchObject({ providerPaymentId: payment.providerPaymentId, canceled })
    expect(refused).toMatchObject({ canceled })
  })

  test.each([
    { status: 'requires_action' },
    { status: 'processing' },
    { status: 'of another age' },
    { amount_capturable: 1998 },
    { amount: 2000, amount_capturable: 2000 },
    { currency: 'jpy' },
  ])('of an intent with %j is unknown', async (members) => {
    const payment = await authorized(adapter)
    await plant(payment.providerPaymentId, members)

    expect((await find(payment)).outcome).toBe('unknown')
  })
})

describe('a cancellation', () => {
  const find = (payment: Payment) =>
    adapter.calls.cancel.find({ payment }, criteriaOf(identityOf('started'), T0_MS))

  test('of a captured payment is declined, as the provider refuses it', async () => {
    const payment = await captured(adapter)

    const found = await find(payment)

    const refused = await adapter.calls.cancel.execute(
      { payment, reason: null },
      identityOf('started'),
    )
    expect(found).toMatchObject({ outcome: 'declined', failure: codesIn(refused) })
  })

  test.each(['requires_capture', 'requires_action', 'requires_payment_method'])(
    'of what is %s was not executed',
    async (status) => {
      const payment = await authorized(adapter)
      await plant(payment.providerPaymentId, { status })

      expect((await find(payment)).outcome).toBe('not_executed')
    },
  )

  test.each([
    { status: 'processing' },
    { status: 'requires_confirmation' },
    { status: 7 },
    { status: 'canceled', amount: 2000 },
  ])('of an intent with %j is unknown', async (members) => {
    const payment = await authorized(adapter)
    await plant(payment.providerPaymentId, members)

    expect((await find(payment)).outcome).toBe('unknown')
  })
})

function codesIn(outcome: Outcome<unknown>): object {
  if (outcome.outcome !== 'declined') throw new Error(`not declined: ${JSON.stringify(outcome)}`)
  const { code, declineCode } = outcome.failure
  return { code, declineCode }
}
