// Tests the adapter, with the official package, against the Stripe stand-in: every call, every
// decline and every fault has one outcome, and repeating a call with its key never executes it
// twice.
import type { CallName } from '../../../src/provider/calls.ts'
import { randomUUID } from 'node:crypto'
import { beforeAll, expect, test } from '@jest/globals'
import type { Unknown } from '../../../src/domain/operations/outcome.ts'
import { showPaymentId, type Payment } from '../../../src/domain/payments/payment.ts'
import { showRefundId } from '../../../src/domain/payments/refund.ts'
import { faultNames, type FaultName } from '../../../dev/stripe-stand-in/faults/faults.ts'
import type { PaymentProvider } from '../../../src/provider/payment-provider.ts'
import {
  adapterFor,
  authorized,
  captured,
  identityOf,
  paymentOf,
  refundOf,
} from './adapter-calls.ts'
import { callNames } from '../../../src/provider/calls.ts'
import { portCalls } from '../contract/calls.ts'
import { calls } from './calls.ts'
import { ownProvider } from '../../support/own-provider.ts'

const provider = ownProvider()

/** For faults that last until the time limit. */
const TIMEOUT_MS = 1_000

let adapter: PaymentProvider

beforeAll(async () => {
  adapter = adapterFor(provider.url)
})

const idOf = ({ providerPaymentId }: Payment) => providerPaymentId ?? ''

/** The calls of one kind that the provider executed. */
const executed = async (kind: string) =>
  (await provider.executed()).filter((entry) => entry.kind === kind)

test.each(callNames)(
  '%s is done, with evidence; again, with the same key, it executes nothing and tells the same',
  async (name) => {
    const { kind, amount, ready, asked, answered, value = {} } = calls[name]
    const { make } = portCalls[name]
    const payment = await ready(adapter)
    const identity = identityOf(name)
    const named = name === 'authorize' ? {} : { payment_id: payment.providerPaymentId }

    const first = await make(adapter, payment, identity)
    const second = await make(adapter, payment, identity)

    expect(first).toMatchObject({
      outcome: 'done',
      value,
      asked: { ...asked, ...named, provider_key: identity.providerKey },
      answered: { status: 200, ...answered },
    })
    expect(second).toMatchObject({ outcome: 'done', value: (first as { value: unknown }).value })
    expect(await executed(kind)).toMatchObject([
      { amount, currency: 'eur', idempotency_key: identity.providerKey },
    ])
  },
)

test('an authorization says until when it holds, and a refund its id', async () => {
  const payment = await captured(adapter)
  const held = await portCalls.authorize.make(adapter, paymentOf(), identityOf('started'))
  const refunded = await portCalls.refund.make(adapter, payment, identityOf('started'))

  expect(held).toMatchObject({ value: { captureBefore: expect.any(Date) } })
  expect(refunded).toMatchObject({ value: { providerRefundId: expect.stringMatching(/^re_/) } })
})

test('the ids of a refund are in its metadata, and the client’s metadata cannot replace them', async () => {
  const payment = await captured(adapter)
  const identity = identityOf('started')
  const metadata = { order: '7', atomic_payment: 'forged', atomic_refund: 'forged' }
  const refund = refundOf(payment, { id: randomUUID(), reason: 'duplicate', metadata })

  const outcome = await adapter.calls.refund.execute({ payment, refund }, identity)

  const { providerRefundId } = (outcome as { value: { providerRefundId: string } }).value
  expect(await provider.stripe.refunds.retrieve(providerRefundId)).toMatchObject({
    payment_intent: payment.providerPaymentId,
    reason: 'duplicate',
    metadata: {
      order: '7',
      atomic_payment: showPaymentId(payment.id),
      atomic_refund: showRefundId(refund.id),
      atomic_operation: identity.operationId,
    },
  })
})

test('our ids are in the metadata, and the client’s metadata cannot replace them', async () => {
  const { id: customer } = await provider.stripe.customers.create()
  const payment = paymentOf({
    customer,
    description: 'Socks',
    metadata: { order: '7', atomic_payment: 'forged' },
  })
  const identity = identityOf('started')

  const outcome = await adapter.calls.authorize.execute({ payment }, identity)

  const { providerPaymentId } = (outcome as { value: { providerPaymentId: string } }).value
  expect(await provider.stripe.paymentIntents.retrieve(providerPaymentId)).toMatchObject({
    customer,
    description: 'Socks',
    metadata: {
      order: '7',
      atomic_payment: showPaymentId(payment.id),
      atomic_operation: identity.operationId,
    },
  })
})

test('the refusal of a saved payment method does not name the customer that owns it', async () => {
  const { id: customer } = await provider.stripe.customers.create()
  const saved = await provider.stripe.paymentMethods.attach('pm_card_visa', { customer })
  const payment = paymentOf({ paymentMethod: saved.id })

  const outcome = await adapter.calls.authorize.execute({ payment }, identityOf('started'))

  expect(outcome).toMatchObject({
    outcome: 'declined',
    failure: {
      code: 'parameter_missing',
      message: expect.stringContaining('belongs to the Customer cus_***. Please include'),
    },
  })
  expect(JSON.stringify(outcome)).not.toContain(customer)
})

test('a payment method that does not exist: declined', async () => {
  const payment = paymentOf({ paymentMethod: 'pm_nobody' })

  const outcome = await adapter.calls.authorize.execute({ payment }, identityOf('started'))

  expect(outcome).toMatchObject({
    outcome: 'declined',
    failure: { code: 'resource_missing', declineCode: null },
    providerPaymentId: null,
  })
})

test('a key that was used for another payment: unknown', async () => {
  const identity = identityOf('started')
  await adapter.calls.authorize.execute({ payment: paymentOf() }, identity)

  const outcome = await adapter.calls.authorize.execute({ payment: paymentOf() }, identity)

  expect(outcome.outcome).toBe('unknown')
  expect(await provider.executed()).toHaveLength(1)
})

// https://docs.stripe.com/error-codes
test.each<[string, object]>([
  ['amount_too_small', { outcome: 'declined', canceled: undefined }],
  ['amount_too_large', { outcome: 'declined', canceled: undefined }],
  ['charge_expired_for_capture', { outcome: 'declined', canceled: { reason: 'expired' } }],
  [
    'capture_charge_authorization_expired',
    { outcome: 'declined', canceled: { reason: 'expired' } },
  ],
  ['charge_already_captured', { outcome: 'unknown', storedFailure: 'certain' }],
])('a capture that is refused with %s: %j', async (code, expected) => {
  const payment = await authorized(adapter, { paymentMethod: `pm_fault_capture_${code}` })

  const outcome = await adapter.calls.capture.execute(
    { payment, amountMinor: 999 },
    identityOf('authorized'),
  )

  expect({ canceled: undefined, ...outcome }).toMatchObject({ ...expected, answered: { code } })
})

/** Calls in a state of the payment that Stripe refuses. */
test.each<[string, CallName, () => Promise<Payment>, (payment: Payment) => object]>([
  [
    'a capture of what was captured under a forgotten key',
    'capture',
    () => captured(adapter),
    () => ({ outcome: 'done', value: { amountCapturedMinor: 1999 } }),
  ],
  [
    'a capture of a partially captured payment',
    'capture',
    async () => {
      const payment = await authorized(adapter)
      await provider.stripe.paymentIntents.capture(idOf(payment), { amount_to_capture: 1000 })
      return payment
    },
    () => ({ outcome: 'unknown' }),
  ],
  [
    'a capture of a canceled payment',
    'capture',
    async () => {
      const payment = await authorized(adapter)
      const reason = { cancellation_reason: 'duplicate' } as const
      await provider.stripe.paymentIntents.cancel(idOf(payment), reason)
      return payment
    },
    ({ providerPaymentId }) => ({
      outcome: 'declined',
      failure: { code: 'payment_intent_unexpected_state' },
      providerPaymentId,
      canceled: { reason: 'duplicate' },
    }),
  ],
  [
    'a cancellation of what was canceled under a forgotten key',
    'cancel',
    async () => {
      const payment = await authorized(adapter)
      await portCalls.cancel.make(adapter, payment, identityOf('started'))
      return payment
    },
    () => ({ outcome: 'done', answered: { status: 400 } }),
  ],
  [
    'a cancellation of a captured payment',
    'cancel',
    () => captured(adapter),
    () => ({ outcome: 'declined' }),
  ],
  [
    'a refund of what was never captured',
    'refund',
    () => authorized(adapter),
    () => ({
      outcome: 'unknown',
      answered: { status: 400, code: 'payment_intent_unexpected_state' },
    }),
  ],
])('%s', async (_, name, make, expected) => {
  const payment = await make()
  const before = await executed(calls[name].kind)

  const outcome = await portCalls[name].make(adapter, payment, identityOf('again'))

  expect(outcome).toMatchObject(expected(payment))
  expect(await executed(calls[name].kind)).toEqual(before)
})

test.each([
  ['all of it was given back', 1999, 1, 'charge_already_refunded'],
  ['more than is left', 1000, 1000, 'invalid_request_error'],
])('a refund when %s: declined', async (_, givenMinor, amountMinor, code) => {
  const payment = await captured(adapter)
  const given = refundOf(payment, { amountMinor: givenMinor })
  await adapter.calls.refund.execute({ payment, refund: given }, identityOf('started'))
  const refund = refundOf(payment, { id: randomUUID(), amountMinor })

  const outcome = await adapter.calls.refund.execute({ payment, refund }, identityOf('started'))

  expect(outcome).toMatchObject({ outcome: 'declined', failure: { code } })
  expect(await executed('refund.create')).toMatchObject([{ amount: givenMinor }])
})

/** The outcome of each fault that does not leave it unknown, and how long some last. */
const outcomes: Partial<Record<FaultName, string>> = {
  rate_limited: 'not_executed',
  lock_timeout: 'not_executed',
  delay: 'done',
}
const DELAYS_MS: Partial<Record<FaultName, number>> = { refuse: 100, delay: 20, slow_drip: 60_000 }
const KEPT_FAILURES: readonly FaultName[] = [
  'error_500_before',
  'error_500_after',
  'error_500_late',
  'error_500_final',
]

// Every call with these faults, and what a lookup then finds: test/provider/contract.
test.each(faultNames.map((fault) => [fault, outcomes[fault] ?? 'unknown'] as const))(
  '%s: %s, and repeating it executes at most once',
  async (fault, expected) => {
    const { kind, amount, request, ready } = calls.authorize
    const { make } = portCalls.authorize
    const payment = await ready(adapter)
    const identity = identityOf('started')
    const hasty = adapterFor(provider.url, TIMEOUT_MS)
    await provider.addFault({ match: request, fault, delay_ms: DELAYS_MS[fault] ?? 0 })

    const first = await make(hasty, payment, identity)

    expect(first.outcome).toBe(expected)
    const stored = fault.startsWith('error_500_') ? 'possible' : undefined
    expect((first as Partial<Unknown>).storedFailure).toBe(stored)
    if (KEPT_FAILURES.includes(fault)) {
      const replayed = { outcome: 'unknown', storedFailure: 'certain' }
      expect(await make(adapter, payment, identity)).toMatchObject(replayed)
      expect(await executed(kind)).toHaveLength(fault === 'error_500_before' ? 0 : 1)
      return
    }

    // Repeats the call with the same key until the outcome is final, as the engine does.
    let again = await make(adapter, payment, identity)
    while (again.outcome !== 'done') again = await make(adapter, payment, identity)
    expect(await executed(kind)).toMatchObject([{ amount, currency: 'eur' }])
  },
)
