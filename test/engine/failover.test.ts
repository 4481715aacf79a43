// Tests that a payment moves to its other provider only when it is proved that the first one executed
// nothing. The other one is a second stand-in of Stripe.
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { listPhaseRuns } from '../../src/db/operations/phase-runs.ts'
import type { OperationRef } from '../../src/domain/operations/operation.ts'
import { reopenOperation } from '../../src/engine/reopen-or-cancel.ts'
import { runOperation } from '../../src/engine/run-phases.ts'
import { withCircuitBreaker } from '../../src/provider/guards.ts'
import { createProviders } from '../../src/provider/providers.ts'
import { createStripeProvider } from '../../src/provider/stripe/stripe-provider.ts'
import { resolveDue } from '../../src/recovery/outcome-resolver.ts'
import { sweep } from '../../src/recovery/sweeper.ts'
import { startProvider, type RunningProvider } from '../dev/stripe-stand-in/running-provider.ts'
import { startTestEngine, type Accepted, type TestEngine } from '../support/engine.ts'
import { stripeOf } from '../support/engine-doubles.ts'

let t: TestEngine
let other: RunningProvider

beforeAll(async () => {
  const [started, standIn] = await Promise.all([startTestEngine(), startProvider()])
  other = standIn
  t = { ...started, engine: withBoth(started, stripeOf(started.engine)) }
})

afterEach(async () => {
  await Promise.all([t.provider.control('POST', '/reset'), other.control('POST', '/reset')])
  await t.engine.store.sql`truncate idempotency_keys, payments cascade`
})

afterAll(async () => {
  await other.close()
  await t.stop()
})

function withBoth({ engine }: TestEngine, first: ReturnType<typeof stripeOf>) {
  return { ...engine, providers: createProviders([first, adapterOfOther()]) }
}

const adapterOfOther = () => ({ ...stripeAt(other.url), name: 'other' })

const stripeAt = (apiBase: string) =>
  createStripeProvider({ secretKey: 'sk_test_mock', apiBase, timeoutMs: HOLD_BACK_MS })

/** Longer than a normal answer takes on a busy machine. */
const HOLD_BACK_MS = 10_000

const FALLBACK = { provider: 'other', payment_method: 'pm_card_mastercard' }
const accept = (request = {}) => t.accept({ currency: 'eur', ...request }, { fallback: FALLBACK })
const run = (ref: OperationRef) => runOperation(t.engine, ref)

const toCreate = { method: 'POST', path: '/v1/payment_intents' }
const everyCreate = (fault: string) => t.provider.addFault({ match: toCreate, fault, times: 9 })

const executedAtStripe = async () => (await t.provider.executed()).map(({ kind }) => kind)
const executedAtOther = async () => (await other.executed()).map(({ kind }) => kind)
const CHARGED_THERE = ['payment_intent.create', 'payment_intent.capture']

async function expectMoved(ref: Accepted) {
  expect(await executedAtStripe()).toEqual([])
  expect(await executedAtOther()).toEqual(CHARGED_THERE)
  expect(await t.readPayment(ref)).toMatchObject({
    status: 'succeeded',
    provider: 'other',
    paymentMethod: 'pm_card_mastercard',
    amountCapturedMinor: 1999,
  })
}

describe('a payment moves', () => {
  test('when the first provider cannot be reached', async () => {
    const ref = await accept()

    expect(await runOperation(withBoth(t, stripeAt('http://127.0.0.1:1')), ref)).toBe('finished')

    await expectMoved(ref)
  })

  test('when the first provider limits the rate before it executes anything', async () => {
    await everyCreate('rate_limited')
    const ref = await accept()

    expect(await run(ref)).toBe('finished')

    await expectMoved(ref)
  })

  test('when the circuit to the first provider is open', async () => {
    const guarded = withCircuitBreaker(stripeOf(t.engine), { failures: 1, openMs: 60_000 })
    const engine = withBoth(t, guarded)
    await everyCreate('rate_limited')
    await runOperation(engine, await t.accept({ currency: 'eur' }))
    await t.provider.control('DELETE', '/faults')
    const ref = await accept()

    expect(await runOperation(engine, ref)).toBe('finished')

    await expectMoved(ref)
  })

  test('in a phase of its own, which the timeline shows with both providers', async () => {
    await everyCreate('rate_limited')
    const ref = await accept()
    await run(ref)

    const all = await listPhaseRuns(t.engine.store, ref.tenantId, ref.paymentId)
    const runs = all.filter(({ phase, reached }) => phase !== null && reached !== null)

    expect(runs.map(({ phase, reached }) => [phase, reached])).toEqual([
      ['started', 'moved'],
      ['moved', 'authorized'],
      ['authorized', 'captured'],
      ['captured', 'finished'],
    ])
    expect(runs[0]).toMatchObject({
      outcome: 'not_executed',
      asked: { provider: 'stripe' },
    })
    expect(runs[1]).toMatchObject({ outcome: 'done', asked: { provider: 'other' } })
  })

  test('and its later operations are at the other provider', async () => {
    await everyCreate('rate_limited')
    const ref = await accept({ captureMethod: 'manual' })
    await run(ref)
    await t.provider.control('DELETE', '/faults')

    expect(await run(await t.acceptCapture(ref))).toBe('finished')

    await expectMoved(ref)
  })

  test('once: if the other provider executes nothing either, it waits there', async () => {
    await everyCreate('rate_limited')
    await other.addFault({ match: { method: 'POST' }, fault: 'rate_limited', times: 9 })
    const ref = await accept()

    expect(await run(ref)).toBe('retry')

    expect(await t.readKey(ref)).toMatchObject({ status: 'pending', recovery_point: 'moved' })
    await other.control('DELETE', '/faults')
    expect(await run(ref)).toBe('finished')
    await expectMoved(ref)
  })
})

describe('a payment stays at its provider', () => {
  test('without a fallback', async () => {
    await everyCreate('rate_limited')
    const ref = await t.accept({ currency: 'eur' })

    expect(await run(ref)).toBe('retry')

    expect(await t.readKey(ref)).toMatchObject({ status: 'pending', recovery_point: 'started' })
    expect(await executedAtOther()).toEqual([])
  })

  test('in a process that does not have the other one', async () => {
    await everyCreate('rate_limited')
    const ref = await accept()
    const alone = { ...t.engine, providers: createProviders([stripeOf(t.engine)]) }

    expect(await runOperation(alone, ref)).toBe('retry')

    expect(await t.readKey(ref)).toMatchObject({ status: 'pending', recovery_point: 'started' })
  })

  test('in a process that does not have it: one that has it calls it', async () => {
    const ref = await accept()
    const elsewhere = { ...t.engine, providers: createProviders([adapterOfOther()]) }

    expect(await runOperation(elsewhere, ref)).toBe('retry')

    const waits = { status: 'pending', recovery_point: 'started', in_doubt: false }
    expect(await t.readKey(ref)).toMatchObject(waits)
    expect(await run(ref)).toBe('finished')
    expect(await executedAtStripe()).toEqual(['payment_intent.create', 'payment_intent.capture'])
    expect(await executedAtOther()).toEqual([])
  })

  test('in a process that does not have it, which repeats no call that may have run', async () => {
    const ref = await accept()
    await t.engine.claim(ref, 1_000)
    await t.expireLease(ref)
    const elsewhere = { ...t.engine, providers: createProviders([adapterOfOther()]) }

    expect(await sweep(elsewhere)).toMatchObject({ resumed: 0, parked: 1 })

    expect(await t.readKey(ref)).toMatchObject({ status: 'unknown', in_doubt: true })
  })

  test('when the answer was lost: it may have been executed', async () => {
    await t.provider.addFault({ match: toCreate, fault: 'reset_after', times: 1 })
    const ref = await accept()

    expect(await run(ref)).toBe('finished')

    expect(await executedAtStripe()).toEqual(['payment_intent.create', 'payment_intent.capture'])
    expect(await executedAtOther()).toEqual([])
  })

  test('when an earlier try of it was lost, and later ones are not executed', async () => {
    await t.provider.addFault({ match: toCreate, fault: 'reset_before', times: 1 })
    await everyCreate('rate_limited')
    const ref = await accept()

    await run(ref)

    expect(await t.readKey(ref)).toMatchObject({ recovery_point: 'started', in_doubt: true })
    expect(await executedAtOther()).toEqual([])
  })

  test('when an earlier owner went silent', async () => {
    const ref = await accept()
    await t.engine.claim(ref, 1_000)
    await t.expireLease(ref)
    await sweep(t.engine)
    await everyCreate('rate_limited')

    await run(ref)

    expect(await t.readKey(ref)).toMatchObject({ recovery_point: 'started', in_doubt: true })
    expect(await executedAtOther()).toEqual([])
  })

  test('when it was in doubt once, even after it is proved absent', async () => {
    await t.provider.addFault({ match: toCreate, fault: 'reset_before', times: 9 })
    const ref = await accept()
    await runUntilUnknown(ref)
    await t.provider.control('DELETE', '/faults')
    await t.letTimePass(ref, 3_600)
    expect(await resolveDue(t.engine)).toMatchObject({ absent: 1 })
    await everyCreate('rate_limited')

    await reopenOperation(t.engine, ref)
    await run(ref)

    expect(await t.readKey(ref)).toMatchObject({ recovery_point: 'started', parameters: {} })
    expect(await executedAtOther()).toEqual([])
  })

  test('when the first provider declined it', async () => {
    const ref = await accept({ paymentMethod: 'pm_card_visa_chargeDeclined' })

    expect(await run(ref)).toBe('finished')

    expect(await t.readPayment(ref)).toMatchObject({ status: 'declined', provider: 'stripe' })
    expect(await executedAtOther()).toEqual([])
  })
})

/** Every attempt is the last one. */
async function runUntilUnknown(ref: OperationRef) {
  const settings = { ...t.engine.settings, JOB_RETRY_LIMIT: 0, PROVIDER_OUTAGE_SECONDS: 0 }
  expect(await runOperation({ ...t.engine, settings }, ref)).toBe('gave_up')
  expect(await t.readKey(ref)).toMatchObject({ status: 'unknown' })
}
