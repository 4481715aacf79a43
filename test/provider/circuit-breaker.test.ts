import { randomUUIDv7 } from 'node:crypto'
import { describe, expect, test } from '@jest/globals'
import type { Outcome } from '../../src/domain/operations/outcome.ts'
import { runOperation } from '../../src/engine/run-phases.ts'
import { withCircuitBreaker } from '../../src/provider/guards.ts'
import type { PaymentProvider } from '../../src/provider/payment-provider.ts'
import type { Authorization, CallName, ProviderCall } from '../../src/provider/calls.ts'
import { stripeOf, withProvider } from '../support/engine-doubles.ts'
import { t } from '../support/own-engine.ts'

const exchange = { asked: {}, answered: {} }
const lost = { outcome: 'unknown', reason: 'no answer', ...exchange } as const
const refused = { outcome: 'not_executed', reason: 'refused', ...exchange } as const
const declined = {
  outcome: 'declined',
  failure: { code: 'card_declined', declineCode: null, message: 'no' },
  providerPaymentId: null,
  ...exchange,
} as const

/** A provider with these outcomes of authorizations, and a count of the executed ones. */
function providerWith(outcomes: Outcome<Authorization>[]) {
  const provider = stripeOf(t.engine)
  const execute = () => {
    counting.executed += 1
    return Promise.resolve(outcomes.shift() ?? lost)
  }
  const calls = { ...provider.calls, authorize: { ...provider.calls.authorize, execute } }
  const counting = { ...provider, executed: 0, calls }
  return counting
}

async function authorize(provider: PaymentProvider) {
  const ref = await t.accept()
  const payment = await t.readPayment(ref)
  const identity = { providerKey: randomUUIDv7(), operationId: ref.id, sendBeforeMs: Infinity }
  return await provider.calls.authorize.execute({ payment }, identity)
}

describe('a provider that fails repeatedly', () => {
  test('is no longer called, and such a call is proved not to have run', async () => {
    const provider = providerWith([lost, refused, lost])
    const guarded = withCircuitBreaker(provider, { failures: 3, openMs: 60_000 })
    for (const expected of ['unknown', 'not_executed', 'unknown']) {
      expect((await authorize(guarded)).outcome).toBe(expected)
    }

    const outcome = await authorize(guarded)

    expect(outcome).toMatchObject({ outcome: 'not_executed', asked: { call: 'authorize' } })
    expect(provider.executed).toBe(3)
  })

  test('does not include one that declines', async () => {
    const provider = providerWith([declined, declined, declined, declined])
    const guarded = withCircuitBreaker(provider, { failures: 2, openMs: 60_000 })

    for (let call = 1; call <= 4; call += 1) {
      expect((await authorize(guarded)).outcome).toBe('declined')
    }
  })

  test('does not include one that refuses a single object, which must not stop the others', async () => {
    const provider = providerWith(
      Array.from({ length: 4 }, () => ({ ...refused, aboutObject: true as const })),
    )
    const guarded = withCircuitBreaker(provider, { failures: 2, openMs: 60_000 })

    for (let call = 1; call <= 4; call += 1) await authorize(guarded)

    expect(provider.executed).toBe(4)
  })

  test('is tried again after a while, with one call for which no other call waits', async () => {
    const provider = providerWith([lost, declined])
    const turns: boolean[] = []
    const turned = (isOpen: boolean) => void turns.push(isOpen)
    const guarded = withCircuitBreaker(provider, { failures: 1, openMs: 30 }, turned)
    await authorize(guarded)
    expect(new Set(turns)).toEqual(new Set([true]))

    let outcome = await authorize(guarded)
    while (outcome.outcome === 'not_executed') outcome = await authorize(guarded)

    expect(outcome.outcome).toBe('declined')
    expect(provider.executed).toBe(2)
    expect(turns.at(-1)).toBe(false)
  })

  test('is still used for lookups, because a skipped lookup proves nothing', async () => {
    const guarded = withCircuitBreaker(providerWith([lost]), { failures: 1, openMs: 60_000 })
    await authorize(guarded)

    const ref = await t.accept()
    const payment = await t.readPayment(ref)
    const now = new Date()
    const found = await guarded.calls.authorize.find(
      { payment },
      {
        operationId: ref.id,
        executedFrom: now,
        executedTo: now,
        providerPaymentId: null,
        providerRefundId: null,
      },
    )

    expect(JSON.stringify(found)).not.toContain('failed repeatedly')
  })
})

test('an operation in doubt stays in doubt when the circuit opens', async () => {
  // The second of the three tries of the call is no longer made.
  const provider = providerWith([lost])
  const engine = {
    ...withProvider(t.engine, withCircuitBreaker(provider, { failures: 1, openMs: 60_000 })),
    settings: { ...t.engine.settings, JOB_RETRY_LIMIT: 1 },
  }
  const ref = await t.accept()

  expect(await runOperation(engine, ref)).toBe('retry')
  expect(await t.readKey(ref)).toMatchObject({ status: 'pending', in_doubt: true })
  expect(await runOperation(engine, ref)).toBe('gave_up')
  expect(await t.readKey(ref)).toMatchObject({ status: 'unknown', in_doubt: true })
  expect(provider.executed).toBe(1)
})

test('guards every call of the port', async () => {
  const provider = stripeOf(t.engine)
  const calls = Object.keys(provider.calls) as CallName[]

  for (const name of calls) {
    const failing = { ...provider.calls[name], execute: () => Promise.resolve(lost) }
    const guarded = withCircuitBreaker(
      { ...provider, calls: { ...provider.calls, [name]: failing } },
      { failures: 1, openMs: 60_000 },
    )
    const { execute } = guarded.calls[name] as ProviderCall<unknown, unknown>
    const identity = {
      providerKey: randomUUIDv7(),
      operationId: randomUUIDv7(),
      sendBeforeMs: Infinity,
    }

    expect(await execute({}, identity)).toMatchObject({ outcome: 'unknown' })
    expect(await execute({}, identity)).toMatchObject({ outcome: 'not_executed' })
  }
})
