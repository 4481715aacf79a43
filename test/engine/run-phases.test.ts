import type { CallName } from '../../src/provider/calls.ts'
import { afterEach, describe, expect, test } from '@jest/globals'
import type { OperationRef } from '../../src/domain/operations/operation.ts'
import { runOperation } from '../../src/engine/run-phases.ts'
import { inTenant } from '../../src/db/connection/transaction.ts'
import { appendPhaseRuns, listPhaseRuns } from '../../src/db/operations/phase-runs.ts'
import type { Outcome } from '../../src/domain/operations/outcome.ts'
import type { Authorization } from '../../src/provider/calls.ts'
import {
  aroundCall,
  aroundCommit,
  connectionLost,
  withoutRetries,
} from '../support/engine-doubles.ts'
import { leaveCaptured } from '../support/left-captured.ts'
import { captured } from '../operations/made-payments.ts'
import { t } from '../support/own-engine.ts'

afterEach(() => {
  // However a run ended.
  expect(t.engine.running.all()).toBe(0)
})

const run = (ref: OperationRef, { lastTry = false, engine = t.engine } = {}) =>
  runOperation(lastTry ? withoutRetries(engine) : engine, ref)

const executed = async () => (await t.provider.executed()).map(({ kind }) => kind)

const CHARGE = ['payment_intent.create', 'payment_intent.capture']

const around = (call: CallName, wrapper: Parameters<typeof aroundCall>[2]) =>
  aroundCall(t.engine, call, wrapper)

const withTransactions = (begin: Parameters<typeof aroundCommit>[1]) =>
  aroundCommit(t.engine, begin)

const pointOf = async (ref: OperationRef) => (await t.readKey(ref))['recovery_point']

describe('a run', () => {
  test('runs every phase up to the stored response', async () => {
    const ref = await t.accept()

    expect(await run(ref)).toBe('finished')

    expect(await t.readKey(ref)).toMatchObject({
      status: 'completed',
      recovery_point: 'finished',
      response_status: 201,
      lease_expires_at: null,
    })
    expect(await t.readPayment(ref)).toMatchObject({
      status: 'succeeded',
      amountCapturedMinor: 1999,
    })
    expect(await executed()).toEqual(CHARGE)
    expect(t.announced).toContain(ref.id)
  })

  test('counts as running for its tenant while it runs', async () => {
    const ref = await t.accept()
    const seen: number[] = []
    const engine = around('authorize', (call) => {
      seen.push(t.engine.running.of(ref.tenantId))
      return call()
    })

    expect(await run(ref, { engine })).toBe('finished')

    expect(seen).toEqual([1])
  })

  test('records a local phase together with the phase before it, and shows both', async () => {
    const ref = await t.accept()
    const seen: unknown[] = []
    const engine = withTransactions(async (commit) => {
      const result = await commit()
      seen.push(await pointOf(ref))
      return result
    })

    expect(await run(ref, { engine })).toBe('finished')

    expect(seen).toEqual(['authorized', 'finished'])
    const tries = await listPhaseRuns(t.engine.store, ref.tenantId, ref.paymentId)
    expect(tries.map(({ phase, reached, outcome }) => [phase, reached, outcome])).toEqual([
      [null, 'started', null],
      ['started', 'authorized', 'done'],
      ['authorized', 'captured', 'done'],
      ['captured', 'finished', null],
    ])
    expect(await t.readPayment(ref)).toMatchObject({
      status: 'succeeded',
      previousStatus: 'processing',
    })
  })

  test('of an idle operation does nothing', async () => {
    const ref = await t.accept()
    await run(ref)
    const before = await t.readKey(ref)

    expect(await run(ref)).toBe('nothing_to_do')
    expect(await t.readKey(ref)).toEqual(before)
    expect(await executed()).toEqual(CHARGE)
  })

  test('of a leased operation leaves it to its owner', async () => {
    const ref = await t.accept()
    let rival
    const engine = around('authorize', async (authorize) => {
      rival = await run(ref)
      return authorize()
    })

    expect(await run(ref, { engine })).toBe('finished')
    expect(rival).toBe('leased')
    expect(await executed()).toEqual(CHARGE)
  })
})

describe('continues', () => {
  test('from a local phase at which a worker of an earlier version crashed', async () => {
    const ref = await t.accept()
    await leaveCaptured(t, ref)
    expect(await pointOf(ref)).toBe('captured')
    await t.expireLease(ref)

    expect(await run(ref)).toBe('finished')

    expect(await t.readKey(ref)).toMatchObject({ status: 'completed', lease_epoch: 3 })
    expect(await t.readPayment(ref)).toMatchObject({ status: 'succeeded' })
    expect(await executed()).toEqual(CHARGE)
  })
})

describe('a commit whose acknowledgment is lost', () => {
  test('is repeated if it did not happen', async () => {
    const ref = await t.accept()
    let failures = 0
    const engine = withTransactions(async (commit) => {
      failures += 1
      if (failures <= 2) throw connectionLost()
      return commit()
    })

    expect(await run(ref, { engine })).toBe('finished')
    expect(await executed()).toEqual(CHARGE)
  })
})

describe('an outcome', () => {
  test('that is not final gives the operation back for the next try', async () => {
    await t.provider.addFault({ match: {}, fault: 'nonsense_body', times: 3 })
    const ref = await t.accept()

    expect(await run(ref)).toBe('retry')
    expect(await t.readKey(ref)).toMatchObject({
      status: 'pending',
      recovery_point: 'started',
      in_doubt: true,
      lease_expires_at: null,
    })
    expect(t.announced).not.toContain(ref.id)

    expect(await run(ref)).toBe('finished')
    expect(await executed()).toEqual(CHARGE)
  })

  test('that is not executed after a try that may have been executed is still unknown', async () => {
    await t.provider.addFault({ match: { nth: 1 }, fault: 'reset_after' })
    await t.provider.addFault({ match: {}, fault: 'rate_limited', times: 2 })
    const ref = await t.accept()

    expect(await run(ref, { lastTry: true })).toBe('gave_up')
    expect(await t.readKey(ref)).toMatchObject({ status: 'unknown' })
  })

  test('of a refused capture is a decline', async () => {
    const ref = await t.accept()
    const engine = around('capture', async (capture) => {
      const [charge] = await t.provider.executed()
      await t.provider.stripe.paymentIntents.cancel(charge?.id ?? '')
      return capture()
    })

    expect(await run(ref, { engine })).toBe('finished')
    expect(await t.readKey(ref)).toMatchObject({ response_status: 402 })
    expect(await t.readPayment(ref)).toMatchObject({ status: 'declined', amountCapturedMinor: 0 })
  })
})

// https://docs.stripe.com/error-low-level: the header Stripe-Should-Retry.
describe('a failure that the provider does not want repeated', () => {
  test('is looked up at once, and completed with what is found', async () => {
    const ref = await t.accept()
    await t.provider.addFault({ match: { method: 'POST' }, fault: 'error_500_final' })

    expect(await run(ref)).toBe('finished')

    const calls = (await listPhaseRuns(t.engine.store, ref.tenantId, ref.paymentId)).map(
      ({ asked }) => (asked as { call?: string } | null)?.call,
    )
    expect(calls.filter((call) => call === 'payment_intents.create')).toHaveLength(1)
    expect(await executed()).toEqual(CHARGE)
  })

  test('waits for the next run when nothing is found', async () => {
    const ref = await t.accept()
    const wait = { outcome: 'unknown', reason: 'no', retryLater: true, asked: {}, answered: {} }
    const engine = around('authorize', () => Promise.resolve(wait))

    expect(await run(ref, { engine })).toBe('retry')

    expect(await t.readKey(ref)).toMatchObject({ status: 'pending', in_doubt: true })
    expect(await run(ref)).toBe('finished')
  })

  test('that executed nothing waits for the next run, too', async () => {
    const ref = await t.accept()
    let calls = 0
    const engine = around('authorize', () => {
      calls += 1
      const waits = { outcome: 'not_executed', retryLater: true } as const
      return Promise.resolve({ ...waits, reason: 'limited', asked: {}, answered: {} })
    })

    expect(await run(ref, { engine })).toBe('retry')

    expect(calls).toBe(1)
    expect(await t.readKey(ref)).toMatchObject({ status: 'pending', in_doubt: false })
  })
})

describe('an answer that cannot be recorded', () => {
  test('leaves the operation unknown, and the call is not repeated', async () => {
    const first = await t.accept()
    await run(first)
    const { providerPaymentId } = await t.readPayment(first)
    const ref = await t.accept()
    const engine = around('authorize', async (authorize) => {
      const outcome = (await authorize()) as Outcome<Authorization>
      if (outcome.outcome !== 'done') return outcome
      // An id that already belongs to another payment.
      return { ...outcome, value: { ...outcome.value, providerPaymentId } }
    })

    expect(await run(ref, { engine })).toBe('gave_up')

    expect(await t.readKey(ref)).toMatchObject({
      status: 'unknown',
      last_error: 'the answer of the provider cannot be recorded',
    })
    expect(await t.readPayment(ref)).toMatchObject({ status: 'unknown' })
    expect(await executed()).toEqual([...CHARGE, 'payment_intent.create'])
  })
})

describe('an operation whose owners keep crashing', () => {
  test('is resumed again and again, and ends with the real outcome', async () => {
    const ref = await t.accept()
    for (let deaths = 0; deaths < 10; deaths += 1) {
      const dying = withTransactions(async () => {
        throw new Error('the process died')
      })
      await expect(run(ref, { engine: dying, lastTry: true })).rejects.toThrow('the process died')
      await t.expireLease(ref)
    }

    expect(await run(ref, { lastTry: true })).toBe('finished')

    expect(await t.readKey(ref)).toMatchObject({ status: 'completed', attempts: 11 })
    expect(await executed()).toEqual(CHARGE)
  })
})

describe('a refusal of a call that may have run', () => {
  test('is not believed when a lookup finds the run', async () => {
    const payment = await captured(t)
    await t.provider.control('POST', '/idempotency', { mode: 'ignore' })
    await t.provider.addFault({ match: { path: '/v1/refunds' }, fault: 'truncated_body' })
    const ref = await t.acceptRefund(payment, 1999)

    expect(await run(ref)).toBe('finished')

    // Without keys, the provider refuses the second refund of the whole amount.
    expect(await t.readKey(ref)).toMatchObject({ response_status: 201 })
    expect(await t.readPayment(ref)).toMatchObject({ amountRefundedMinor: 1999 })
    expect(await executed()).toEqual([...CHARGE, 'refund.create'])
  })

  test('is final when a lookup finds nothing', async () => {
    const payment = await captured(t)
    const { providerPaymentId } = await t.readPayment(payment)
    const ref = await t.acceptRefund(payment, 1999)
    await t.provider.stripe.refunds.create({ payment_intent: providerPaymentId ?? '' })
    const match = { method: 'POST', path: '/v1/refunds' }
    await t.provider.addFault({ match, fault: 'unavailable' })

    expect(await run(ref)).toBe('finished')

    expect(await t.readKey(ref)).toMatchObject({ response_status: 402 })
    expect(await t.readPayment(ref)).toMatchObject({ amountRefundedMinor: 0 })
  })

  test('is not recorded while the lookup fails', async () => {
    const payment = await captured(t)
    const path = '/v1/refunds'
    await t.provider.control('POST', '/idempotency', { mode: 'ignore' })
    await t.provider.addFault({ match: { method: 'POST', path }, fault: 'truncated_body' })
    await t.provider.addFault({ match: { method: 'GET' }, fault: 'unavailable', times: 9 })
    const ref = await t.acceptRefund(payment, 1999)

    expect(await run(ref)).toBe('retry')

    expect(await t.readKey(ref)).toMatchObject({ status: 'pending', in_doubt: true })
  })
})

describe('a call that may have run', () => {
  const past = (ref: OperationRef) => t.engine.store.sql`
    update idempotency_keys set phase_began_at = now() - interval '1 hour' where id = ${ref.id}
  `

  test('is not repeated once the provider may have forgotten its key', async () => {
    await t.provider.addFault({ match: {}, fault: 'nonsense_body', times: 3 })
    const ref = await t.accept()
    await run(ref)
    await past(ref)
    await t.provider.control('POST', '/idempotency', { mode: 'forget' })

    expect(await run(ref)).toBe('gave_up')

    expect(await t.readKey(ref)).toMatchObject({ status: 'unknown' })
    expect(await executed()).toEqual(['payment_intent.create'])
  })

  test('is repeated any number of times while the provider remembers its key', async () => {
    await t.provider.addFault({ match: {}, fault: 'nonsense_body', times: 9 })
    const ref = await t.accept()
    for (let tries = 0; tries < 3; tries += 1) expect(await run(ref)).toBe('retry')

    expect(await run(ref)).toBe('finished')
    expect(await executed()).toEqual(CHARGE)
  })

  test('differs from one that is proved not to have run, which may wait forever', async () => {
    await t.provider.addFault({ match: {}, fault: 'rate_limited', times: 3 })
    const ref = await t.accept()
    await run(ref)
    await past(ref)

    expect(await run(ref)).toBe('finished')
    expect(await executed()).toEqual(CHARGE)
  })
})

test('the provider key is the same for every try, and different for every phase', async () => {
  await t.provider.addFault({ match: {}, fault: 'unavailable', times: 4 })
  const ref = await t.accept()
  await run(ref)
  await run(ref)

  const tries = await listPhaseRuns(t.engine.store, ref.tenantId, ref.paymentId)
  const keys = tries.map((phaseRun) => phaseRun.asked?.['provider_key'])
  const [started, authorized] = [`atomic_${ref.id}_started`, `atomic_${ref.id}_authorized`]
  expect(keys).toEqual([undefined, ...Array<string>(5).fill(started), authorized, undefined])
})

test('tries of one millisecond stay in the order in which they were made', async () => {
  const ref = await t.accept()
  const startedAt = new Date()
  const phases = Array.from({ length: 12 }, (_, index) => `phase_${index}`)
  const tries = phases.map((phase) => ({ phase, reached: null, outcome: undefined, startedAt }))
  const owner = { ...ref, operation: 'payment.create', attempt: 1, leaseEpoch: 1 }

  await inTenant(t.engine.store.sql, ref.tenantId, (tx) => appendPhaseRuns(tx, [{ owner, tries }]))

  const listed = await listPhaseRuns(t.engine.store, ref.tenantId, ref.paymentId)
  expect(listed.map(({ phase }) => phase)).toEqual([null, ...phases])
})
