// The adapter, with the official package, against the mock provider: every call, every decline and
// every fault is one outcome, and repeating a call with its key never charges twice.
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { showPaymentId } from '../../src/domain/payment.ts'
import { faultNames, type FaultName } from '../../src/mock-provider/faults.ts'
import { paymentMethods } from '../../src/mock-provider/payment-methods.ts'
import type { PaymentProvider } from '../../src/provider/payment-provider.ts'
import { startProvider, type RunningProvider } from '../mock-provider/running-provider.ts'
import { adapterFor, authorized, callNames, calls, identityOf, paymentOf } from './adapter-calls.ts'

/** For faults that have to be waited out. */
const TIMEOUT_MS = 1_000

let provider: RunningProvider
let adapter: PaymentProvider

beforeAll(async () => {
  provider = await startProvider()
  adapter = adapterFor(provider.url)
})
beforeEach(async () => {
  await provider.control('POST', '/reset')
})
afterAll(async () => provider.close())

/** What the provider executed of one kind. */
const executed = async (kind: string) =>
  (await provider.executed()).filter((entry) => entry.kind === kind)

test('an authorization is done, and holds the amount without taking it', async () => {
  const identity = identityOf('started')

  const outcome = await adapter.authorize(paymentOf(), identity)

  expect(outcome).toMatchObject({
    outcome: 'done',
    value: { providerPaymentId: expect.stringMatching(/^pi_/) },
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

test('a capture is done, and takes the whole amount', async () => {
  const payment = await authorized(adapter)

  const outcome = await adapter.capture(payment, payment.amountMinor, identityOf('authorized'))

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

test('the same call again, with the same key, executes nothing and tells the same', async () => {
  const payment = paymentOf()
  const identity = identityOf('started')
  const first = await adapter.authorize(payment, identity)

  const second = await adapter.authorize(payment, identity)

  expect(second).toMatchObject({ outcome: 'done', value: (first as { value: object }).value })
  expect(await provider.executed()).toHaveLength(1)
})

test('our ids go into the metadata next to what the client sent, which cannot replace them', async () => {
  const payment = paymentOf({
    customer: 'cus_1',
    description: 'Socks',
    metadata: { order: '7', atomic_payment: 'forged' },
  })
  const identity = identityOf('started')

  const outcome = await adapter.authorize(payment, identity)

  const { providerPaymentId } = (outcome as { value: { providerPaymentId: string } }).value
  expect(await provider.stripe.paymentIntents.retrieve(providerPaymentId)).toMatchObject({
    customer: 'cus_1',
    description: 'Socks',
    metadata: {
      order: '7',
      atomic_payment: showPaymentId(payment.id),
      atomic_operation: identity.operationId,
    },
  })
})

test('a capture without an authorization is a bug of the caller, not an outcome', async () => {
  await expect(adapter.capture(paymentOf(), 1999, identityOf('authorized'))).rejects.toThrow(
    'has nothing to capture',
  )
})

const declining = paymentMethods.flatMap(({ id, outcome }) =>
  outcome.kind === 'decline' ? [{ declineCode: null, ...outcome, id }] : [],
)
const asking = paymentMethods.filter(({ outcome }) => outcome.kind === 'authenticate')

test.each(declining)('$id: declined, $code, $declineCode', async (method) => {
  const { id, code, declineCode, message } = method

  const outcome = await adapter.authorize(paymentOf({ paymentMethod: id }), identityOf('started'))

  expect(outcome).toMatchObject({
    outcome: 'declined',
    failure: { code, declineCode, message },
    providerPaymentId: expect.stringMatching(/^pi_/),
  })
  expect(await provider.executed()).toEqual([])
})

test.each(asking)('$id, whose holder would have to be asked: declined', async ({ id }) => {
  const outcome = await adapter.authorize(paymentOf({ paymentMethod: id }), identityOf('started'))

  const code = 'authentication_required'
  expect(outcome).toMatchObject({ outcome: 'declined', failure: { code, declineCode: code } })
})

test('a payment method that does not exist: declined', async () => {
  const payment = paymentOf({ paymentMethod: 'pm_nobody' })

  const outcome = await adapter.authorize(payment, identityOf('started'))

  expect(outcome).toMatchObject({
    outcome: 'declined',
    failure: { code: 'resource_missing', declineCode: null },
    providerPaymentId: null,
  })
})

test('a key that was used for another payment: unknown', async () => {
  const identity = identityOf('started')
  await adapter.authorize(paymentOf(), identity)

  const outcome = await adapter.authorize(paymentOf(), identity)

  expect(outcome.outcome).toBe('unknown')
  expect(await provider.executed()).toHaveLength(1)
})

test('a capture of what was captured under a forgotten key: done', async () => {
  const payment = await authorized(adapter)
  await adapter.capture(payment, payment.amountMinor, identityOf('authorized'))

  const outcome = await adapter.capture(payment, payment.amountMinor, identityOf('authorized'))

  expect(outcome).toMatchObject({ outcome: 'done', value: { amountCapturedMinor: 1999 } })
  expect(await executed('payment_intent.capture')).toHaveLength(1)
})

test('a capture of what was captured in part: unknown', async () => {
  const payment = await authorized(adapter)
  await provider.stripe.paymentIntents.capture(payment.providerPaymentId ?? '', {
    amount_to_capture: 1000,
  })

  const outcome = await adapter.capture(payment, payment.amountMinor, identityOf('authorized'))

  expect(outcome.outcome).toBe('unknown')
})

test('a capture of what was canceled: declined', async () => {
  const payment = await authorized(adapter)
  await provider.stripe.paymentIntents.cancel(payment.providerPaymentId ?? '')

  const outcome = await adapter.capture(payment, payment.amountMinor, identityOf('authorized'))

  expect(outcome).toMatchObject({
    outcome: 'declined',
    failure: { code: 'payment_intent_unexpected_state' },
    providerPaymentId: payment.providerPaymentId,
  })
  expect(await executed('payment_intent.capture')).toEqual([])
})

test('a capture of what does not exist: declined', async () => {
  const payment = paymentOf({ providerPaymentId: 'pi_nobody' })

  const outcome = await adapter.capture(payment, payment.amountMinor, identityOf('authorized'))

  expect(outcome).toMatchObject({ outcome: 'declined', failure: { code: 'resource_missing' } })
})

/** What each fault leads to; a `delay_ms` is for those that take time. */
const sorted: Record<FaultName, { outcome: string; delay_ms?: number }> = {
  refuse: { outcome: 'unknown', delay_ms: 100 },
  reset_before: { outcome: 'unknown' },
  reset_after: { outcome: 'unknown' },
  hang_before: { outcome: 'unknown' },
  hang_after: { outcome: 'unknown' },
  error_500_before: { outcome: 'unknown' },
  error_500_after: { outcome: 'unknown' },
  rate_limited: { outcome: 'not_executed' },
  conflict: { outcome: 'unknown' },
  truncated_body: { outcome: 'unknown' },
  nonsense_body: { outcome: 'unknown' },
  wrong_amount: { outcome: 'unknown' },
  delay: { outcome: 'done', delay_ms: 20 },
  slow_drip: { outcome: 'unknown', delay_ms: 60_000 },
}
const faulty = callNames.flatMap((name) =>
  faultNames.map((fault) => ({ name, fault, ...sorted[fault] })),
)

test.each(faulty)(
  '$fault in $name: $outcome, and repeating it charges once',
  async ({ name, fault, outcome: expected, delay_ms = 0 }) => {
    const { kind, path, ready } = calls[name]
    const payment = await ready(adapter)
    const identity = identityOf(name)
    const hasty = adapterFor(provider.url, TIMEOUT_MS)
    await provider.addFault({ match: { method: 'POST', path }, fault, delay_ms })

    const first = await hasty[name](payment, identity)

    expect(first.outcome).toBe(expected)

    // As the engine does: again with the same key, until it is settled.
    let again = await adapter[name](payment, identity)
    while (again.outcome !== 'done') again = await adapter[name](payment, identity)
    expect(await executed(kind)).toMatchObject([{ amount: 1999, currency: 'eur' }])
  },
)

test.each(['slow_drip', 'hang_before', 'hang_after', 'delay'])(
  '%s beyond the time limit: unknown when the time is up',
  async (fault) => {
    await provider.addFault({ fault, delay_ms: 60_000 })
    const startedMs = performance.now()

    const outcome = await adapterFor(provider.url, 200).authorize(
      paymentOf(),
      identityOf('started'),
    )

    expect(outcome).toMatchObject({ outcome: 'unknown', answered: { error: 'timeout' } })
    expect(performance.now() - startedMs).toBeLessThan(5_000)
  },
)

test('a refused connection after a reset: first unknown, then not_executed', async () => {
  const identity = identityOf('started')
  const payment = paymentOf()
  await provider.addFault({ fault: 'refuse', delay_ms: 2_000 })

  const reset = await adapter.authorize(payment, identity)
  const refused = await adapter.authorize(payment, identity)

  expect(reset.outcome).toBe('unknown')
  expect(refused).toMatchObject({
    outcome: 'not_executed',
    answered: { error: 'ECONNREFUSED' },
  })
})
