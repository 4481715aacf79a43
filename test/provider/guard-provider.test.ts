import { randomUUIDv7 } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { Outcome } from '../../src/domain/operations/outcome.ts'
import { runOperation } from '../../src/operations/run-phases.ts'
import { guardProvider } from '../../src/provider/guard-provider.ts'
import type { Authorization, PaymentProvider } from '../../src/provider/payment-provider.ts'
import { startTestEngine, type TestEngine } from '../support/engine.ts'

let t: TestEngine
beforeAll(async () => {
  t = await startTestEngine()
})
afterAll(() => t.stop())

const exchange = { asked: {}, answered: {} }
const lost = { outcome: 'unknown', reason: 'no answer', ...exchange } as const
const refused = { outcome: 'not_executed', reason: 'refused', ...exchange } as const
const declined = {
  outcome: 'declined',
  failure: { code: 'card_declined', declineCode: null, message: 'no' },
  providerPaymentId: null,
  ...exchange,
} as const

/** The provider, but what its authorizations tell, and how many were made. */
function telling(outcomes: Outcome<Authorization>[]) {
  const provider: PaymentProvider & { calls: number } = {
    ...t.engine.provider,
    calls: 0,
    authorize() {
      provider.calls += 1
      return Promise.resolve(outcomes.shift() ?? lost)
    },
  }
  return provider
}

async function authorize(provider: PaymentProvider) {
  const ref = await t.accept()
  const payment = await t.readPayment(ref)
  const identity = { providerKey: randomUUIDv7(), operationId: ref.id }
  return await provider.authorize(payment, identity)
}

describe('a provider that fails again and again', () => {
  test('is called no more, which is proved not to have run', async () => {
    const provider = telling([lost, refused, lost])
    const guarded = guardProvider(provider, { failures: 3, openMs: 60_000 })
    for (const expected of ['unknown', 'not_executed', 'unknown']) {
      expect((await authorize(guarded)).outcome).toBe(expected)
    }

    const outcome = await authorize(guarded)

    expect(outcome).toMatchObject({ outcome: 'not_executed', asked: { call: 'authorize' } })
    expect(provider.calls).toBe(3)
  })

  test('is not one that declines', async () => {
    const provider = telling([declined, declined, declined, declined])
    const guarded = guardProvider(provider, { failures: 2, openMs: 60_000 })

    for (let call = 1; call <= 4; call += 1) {
      expect((await authorize(guarded)).outcome).toBe('declined')
    }
  })

  test('is tried again after a while, by one call that nobody waits for', async () => {
    const provider = telling([lost, declined])
    const turns: boolean[] = []
    const turned = (isOpen: boolean) => void turns.push(isOpen)
    const guarded = guardProvider(provider, { failures: 1, openMs: 30 }, turned)
    await authorize(guarded)
    expect(new Set(turns)).toEqual(new Set([true]))

    let outcome = await authorize(guarded)
    while (outcome.outcome === 'not_executed') outcome = await authorize(guarded)

    expect(outcome.outcome).toBe('declined')
    expect(provider.calls).toBe(2)
    expect(turns.at(-1)).toBe(false)
  })

  test('is still looked at: not to have looked proves nothing', async () => {
    const guarded = guardProvider(telling([lost]), { failures: 1, openMs: 60_000 })
    await authorize(guarded)

    const ref = await t.accept()
    const payment = await t.readPayment(ref)
    const now = new Date()
    const found = await guarded.findAuthorization(payment, {
      operationId: ref.id,
      calledFrom: now,
      calledTo: now,
      providerPaymentId: null,
      providerRefundId: null,
    })

    expect(JSON.stringify(found)).not.toContain('failed repeatedly')
  })
})

test('an operation in doubt stays in doubt when the circuit opens', async () => {
  // The second of the three tries of the call is not made any more.
  const provider = telling([lost])
  const engine = {
    ...t.engine,
    provider: guardProvider(provider, { failures: 1, openMs: 60_000 }),
    settings: { ...t.engine.settings, JOB_RETRY_LIMIT: 1 },
  }
  const ref = await t.accept()

  expect(await runOperation(engine, ref)).toBe('retry')
  expect(await t.readKey(ref)).toMatchObject({ status: 'pending', in_doubt: true })
  expect(await runOperation(engine, ref)).toBe('gave_up')
  expect(await t.readKey(ref)).toMatchObject({ status: 'unknown', in_doubt: true })
  expect(provider.calls).toBe(1)
})
