// Tests the adapter, with the official package, against the Stripe stand-in: every call, every
// decline and every fault has one outcome, and repeating a call with its key never executes it
// twice.
import type { CallName } from '../../../src/provider/payment-provider.ts'
import { randomUUID } from 'node:crypto'
import { beforeAll, expect, test } from '@jest/globals'
import type { Unknown } from '../../../src/domain/operations/outcome.ts'
import { showPaymentId, type Payment } from '../../../src/domain/payments/payment.ts'
import { showRefundId } from '../../../src/domain/payments/refund.ts'
import { faultNames, type FaultName } from '../../../dev/stripe-stand-in/faults/faults.ts'
import { paymentMethods } from '../../../dev/stripe-stand-in/payment-intents/payment-methods.ts'
import { cancelReasons } from '../../../src/domain/payments/payment.ts'
import type { PaymentProvider } from '../../../src/provider/payment-provider.ts'
import {
  adapterFor,
  authorized,
  callNames,
  calls,
  captured,
  identityOf,
  paymentOf,
  refundOf,
} from './adapter-calls.ts'
import { provider } from '../../support/own-provider.ts'

/** For faults that last until the time limit. */
const TIMEOUT_MS = 1_000

let adapter: PaymentProvider

beforeAll(async () => {
  adapter = adapterFor(provider.url)
})

/** The payment as the provider has it. */
const intentOf = (payment: Payment) =>
  provider.stripe.paymentIntents.retrieve(payment.providerPaymentId ?? '')

/** The calls of one kind that the provider executed. */
const executed = async (kind: string) =>
  (await provider.executed()).filter((entry) => entry.kind === kind)

test('an authorization is done, and holds the amount without capturing it', async () => {
  const identity = identityOf('started')

  const outcome = await adapter.calls.authorize.execute({ payment: paymentOf() }, identity)

  expect(outcome).toMatchObject({
    outcome: 'done',
    value: {
      status: 'held',
      providerPaymentId: expect.stringMatching(/^pi_/),
      captureBefore: expect.any(Date),
    },
    asked: { call: 'payment_intents.create', provider_key: identity.providerKey, amount: 1999 },
    answered: { status: 200, payment_status: 'requires_capture', amount: 1999 },
  })
  expect(await provider.executed()).toMatchObject([
    {
      kind: 'payment_intent.create',
      amount: 1999,
      currency: 'eur',
      idempotency_key: identity.providerKey,
    },
  ])
})

test('a capture is done, and captures the whole amount', async () => {
  const payment = await authorized(adapter)

  const outcome = await adapter.calls.capture.execute(
    { payment, amountMinor: payment.amountMinor },
    identityOf('authorized'),
  )

  expect(outcome).toMatchObject({
    outcome: 'done',
    value: { amountCapturedMinor: 1999 },
    asked: { call: 'payment_intents.capture', payment_id: payment.providerPaymentId },
    answered: { status: 200, payment_status: 'succeeded' },
  })
  expect(await executed('payment_intent.capture')).toMatchObject([
    { id: payment.providerPaymentId, amount: 1999 },
  ])
})

test('a partial capture is done, captures no more, and releases the rest', async () => {
  const payment = await authorized(adapter)

  const outcome = await adapter.calls.capture.execute(
    { payment, amountMinor: 500 },
    identityOf('started'),
  )

  expect(outcome).toMatchObject({ outcome: 'done', value: { amountCapturedMinor: 500 } })
  expect(await executed('payment_intent.capture')).toMatchObject([{ amount: 500 }])
  expect(await intentOf(payment)).toMatchObject({ amount_received: 500, amount_capturable: 0 })
})

test('a cancellation is done, and releases the held amount', async () => {
  const payment = await authorized(adapter)
  const identity = identityOf('started')

  const outcome = await adapter.calls.cancel.execute({ payment, reason: 'duplicate' }, identity)

  expect(outcome).toMatchObject({
    outcome: 'done',
    value: { reason: 'duplicate' },
    asked: {
      call: 'payment_intents.cancel',
      provider_key: identity.providerKey,
      payment_id: payment.providerPaymentId,
    },
    answered: { status: 200, payment_status: 'canceled' },
  })
  expect(await executed('payment_intent.cancel')).toMatchObject([
    { id: payment.providerPaymentId, amount: 1999, idempotency_key: identity.providerKey },
  ])
})

test.each(cancelReasons)('a cancellation tells the provider the reason %s', async (reason) => {
  const payment = await authorized(adapter)

  await adapter.calls.cancel.execute({ payment, reason }, identityOf('started'))

  expect(await intentOf(payment)).toMatchObject({ cancellation_reason: reason })
})

test('a payment whose cardholder has not authenticated yet can be canceled', async () => {
  const payment = paymentOf({ paymentMethod: 'pm_card_threeDSecureRequired' })
  const asked = await adapter.calls.authorize.execute({ payment }, identityOf('started'))
  const { providerPaymentId } = (asked as { value: { providerPaymentId: string } }).value

  const outcome = await adapter.calls.cancel.execute(
    { payment: { ...payment, providerPaymentId }, reason: null },
    identityOf('started'),
  )

  expect(outcome.outcome).toBe('done')
})

test('a refund is done, and returns its amount', async () => {
  const payment = await captured(adapter)
  const identity = identityOf('started')

  const outcome = await adapter.calls.refund.execute(
    { payment, refund: refundOf(payment, { amountMinor: 500 }) },
    identity,
  )

  expect(outcome).toMatchObject({
    outcome: 'done',
    value: { providerRefundId: expect.stringMatching(/^re_/) },
    asked: {
      call: 'refunds.create',
      provider_key: identity.providerKey,
      payment_id: payment.providerPaymentId,
      amount: 500,
    },
    answered: { status: 200, refund_status: 'succeeded', amount: 500 },
  })
  expect(await executed('refund.create')).toMatchObject([
    { amount: 500, currency: 'eur', idempotency_key: identity.providerKey },
  ])
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

test.each(callNames)(
  '%s again, with the same key, executes nothing and tells the same',
  async (name) => {
    const { kind, ready, make } = calls[name]
    const payment = await ready(adapter)
    const identity = identityOf(name)
    const first = await make(adapter, payment, identity)

    const second = await make(adapter, payment, identity)

    expect(second).toMatchObject({ outcome: 'done', value: (first as { value: unknown }).value })
    expect(await executed(kind)).toHaveLength(1)
  },
)

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

const declining = paymentMethods.flatMap(({ id, outcome }) =>
  outcome.kind === 'decline' ? [{ declineCode: null, ...outcome, id }] : [],
)
const asking = paymentMethods.filter(({ outcome }) => outcome.kind === 'authenticate')

test.each(declining)('$id: declined, $code, $declineCode', async (method) => {
  const { id, code, declineCode, message } = method

  const outcome = await adapter.calls.authorize.execute(
    { payment: paymentOf({ paymentMethod: id }) },
    identityOf('started'),
  )

  expect(outcome).toMatchObject({
    outcome: 'declined',
    failure: { code, declineCode, message },
    providerPaymentId: expect.stringMatching(/^pi_/),
  })
  expect(await provider.executed()).toEqual([])
})

test.each(asking)(
  '$id, whose cardholder must authenticate: done, and nothing is held',
  async ({ id }) => {
    const outcome = await adapter.calls.authorize.execute(
      { payment: paymentOf({ paymentMethod: id }) },
      identityOf('started'),
    )

    const { value } = outcome as { value: { providerPaymentId: string } }
    const intent = await provider.stripe.paymentIntents.retrieve(value.providerPaymentId)
    expect(outcome).toMatchObject({
      outcome: 'done',
      value: { status: 'requires_action', clientSecret: intent.client_secret },
      answered: { status: 200, payment_status: 'requires_action' },
    })
    expect(await provider.executed()).toEqual([])
  },
)

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

test('a capture of a payment captured under a forgotten key: done', async () => {
  const payment = await authorized(adapter)
  await adapter.calls.capture.execute(
    { payment, amountMinor: payment.amountMinor },
    identityOf('authorized'),
  )

  const outcome = await adapter.calls.capture.execute(
    { payment, amountMinor: payment.amountMinor },
    identityOf('authorized'),
  )

  expect(outcome).toMatchObject({ outcome: 'done', value: { amountCapturedMinor: 1999 } })
  expect(await executed('payment_intent.capture')).toHaveLength(1)
})

test('a capture of a partially captured payment: unknown', async () => {
  const payment = await authorized(adapter)
  await provider.stripe.paymentIntents.capture(payment.providerPaymentId ?? '', {
    amount_to_capture: 1000,
  })

  const outcome = await adapter.calls.capture.execute(
    { payment, amountMinor: payment.amountMinor },
    identityOf('authorized'),
  )

  expect(outcome.outcome).toBe('unknown')
})

test('a capture of a canceled payment: declined', async () => {
  const payment = await authorized(adapter)
  const reason = { cancellation_reason: 'duplicate' } as const
  await provider.stripe.paymentIntents.cancel(payment.providerPaymentId ?? '', reason)

  const outcome = await adapter.calls.capture.execute(
    { payment, amountMinor: payment.amountMinor },
    identityOf('authorized'),
  )

  expect(outcome).toMatchObject({
    outcome: 'declined',
    failure: { code: 'payment_intent_unexpected_state' },
    providerPaymentId: payment.providerPaymentId,
    canceled: { reason: 'duplicate' },
  })
  expect(await executed('payment_intent.capture')).toEqual([])
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
  ['charge_already_captured', { outcome: 'unknown', keptFailure: 'certain' }],
])('a capture that is refused with %s: %j', async (code, expected) => {
  const payment = await authorized(adapter, { paymentMethod: `pm_fault_capture_${code}` })

  const outcome = await adapter.calls.capture.execute(
    { payment, amountMinor: 999 },
    identityOf('authorized'),
  )

  expect({ canceled: undefined, ...outcome }).toMatchObject({ ...expected, answered: { code } })
})

test('a capture of a payment that this account does not have: not_executed', async () => {
  const payment = paymentOf({ providerPaymentId: 'pi_nobody' })

  const outcome = await adapter.calls.capture.execute(
    { payment, amountMinor: payment.amountMinor },
    identityOf('authorized'),
  )

  const answered = { status: 404, code: 'resource_missing' }
  const waits = { aboutObject: true, asksToWait: true }
  expect(outcome).toMatchObject({ outcome: 'not_executed', ...waits, answered })
})

test('a cancellation of a payment canceled under a forgotten key: done', async () => {
  const payment = await authorized(adapter)
  await adapter.calls.cancel.execute({ payment, reason: null }, identityOf('started'))

  const outcome = await adapter.calls.cancel.execute(
    { payment, reason: null },
    identityOf('started'),
  )

  expect(outcome).toMatchObject({ outcome: 'done', answered: { status: 400 } })
  expect(await executed('payment_intent.cancel')).toHaveLength(1)
})

test('a cancellation of a captured payment: declined', async () => {
  const payment = await captured(adapter)

  const outcome = await adapter.calls.cancel.execute(
    { payment, reason: null },
    identityOf('started'),
  )

  expect(outcome.outcome).toBe('declined')
  expect(await executed('payment_intent.cancel')).toEqual([])
})

test('a cancellation of a payment that this account does not have: not_executed', async () => {
  const payment = paymentOf({ providerPaymentId: 'pi_nobody' })

  const outcome = await adapter.calls.cancel.execute(
    { payment, reason: null },
    identityOf('started'),
  )

  const answered = { status: 404, code: 'resource_missing' }
  expect(outcome).toMatchObject({ outcome: 'not_executed', answered })
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

test('a refund of a payment that was never captured: unknown', async () => {
  const payment = await authorized(adapter)

  const outcome = await adapter.calls.refund.execute(
    { payment, refund: refundOf(payment) },
    identityOf('started'),
  )

  const code = 'payment_intent_unexpected_state'
  expect(outcome).toMatchObject({ outcome: 'unknown', answered: { status: 400, code } })
  expect(await executed('refund.create')).toEqual([])
})

test('a refund of a payment that this account does not have: not_executed', async () => {
  const payment = paymentOf({ providerPaymentId: 'pi_nobody' })

  const outcome = await adapter.calls.refund.execute(
    { payment, refund: refundOf(payment) },
    identityOf('started'),
  )

  const answered = { status: 404, code: 'resource_missing' }
  expect(outcome).toMatchObject({ outcome: 'not_executed', answered })
})

/** The outcome of each fault. `delay_ms` is for faults that take time. */
const sorted: Record<FaultName, { outcome: string; keptFailure?: 'possible'; delay_ms?: number }> =
  {
    refuse: { outcome: 'unknown', delay_ms: 100 },
    reset_before: { outcome: 'unknown' },
    reset_after: { outcome: 'unknown' },
    hang_before: { outcome: 'unknown' },
    hang_after: { outcome: 'unknown' },
    error_500_before: { outcome: 'unknown', keptFailure: 'possible' },
    error_500_after: { outcome: 'unknown', keptFailure: 'possible' },
    error_500_early: { outcome: 'unknown', keptFailure: 'possible' },
    reset_late: { outcome: 'unknown' },
    hang_late: { outcome: 'unknown' },
    error_500_late: { outcome: 'unknown', keptFailure: 'possible' },
    error_500_final: { outcome: 'unknown', keptFailure: 'possible' },
    unavailable: { outcome: 'unknown' },
    rate_limited: { outcome: 'not_executed' },
    lock_timeout: { outcome: 'not_executed' },
    conflict: { outcome: 'unknown' },
    truncated_body: { outcome: 'unknown' },
    nonsense_body: { outcome: 'unknown' },
    wrong_amount: { outcome: 'unknown' },
    delay: { outcome: 'done', delay_ms: 20 },
    slow_drip: { outcome: 'unknown', delay_ms: 60_000 },
  }
/** A cancellation has no amount, so its answer cannot have a wrong one. */
const exceptions: Partial<Record<CallName, Partial<typeof sorted>>> = {
  cancel: { wrong_amount: { outcome: 'done' } },
}
const KEPT_FAILURES: readonly FaultName[] = [
  'error_500_before',
  'error_500_after',
  'error_500_late',
  'error_500_final',
]

const faulty = callNames.flatMap((name) =>
  faultNames.map((fault) => ({ name, fault, ...sorted[fault], ...exceptions[name]?.[fault] })),
)

test.each(faulty)(
  '$fault in $name: $outcome, and repeating it executes at most once',
  async ({ name, fault, outcome: expected, keptFailure, delay_ms = 0 }) => {
    const { kind, amount, path, ready, make } = calls[name]
    const payment = await ready(adapter)
    const identity = identityOf(name)
    const hasty = adapterFor(provider.url, TIMEOUT_MS)
    await provider.addFault({ match: { method: 'POST', path }, fault, delay_ms })

    const first = await make(hasty, payment, identity)

    expect(first.outcome).toBe(expected)
    expect((first as Partial<Unknown>).keptFailure).toBe(keptFailure)
    if (KEPT_FAILURES.includes(fault)) {
      const replayed = { outcome: 'unknown', keptFailure: 'certain' }
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

test('a refused connection after a reset: first unknown, then not_executed', async () => {
  const identity = identityOf('started')
  const payment = paymentOf()
  await provider.addFault({ fault: 'refuse', delay_ms: 2_000 })

  const reset = await adapter.calls.authorize.execute({ payment }, identity)
  const refused = await adapter.calls.authorize.execute({ payment }, identity)

  expect(reset.outcome).toBe('unknown')
  expect(refused).toMatchObject({
    outcome: 'not_executed',
    answered: { error: 'ECONNREFUSED' },
  })
})
