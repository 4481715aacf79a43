// Tests a provider without idempotency keys: a call that may have run is looked up, never repeated.
import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { requestCheckIfUnknown } from '../../src/db/operations/requested-checks.ts'
import { inTransaction } from '../../src/db/connection/transaction.ts'
import type { OperationRef } from '../../src/domain/operations/operation.ts'
import { reopenOperation } from '../../src/engine/reopen-or-cancel.ts'
import { runOperation } from '../../src/engine/run-phases.ts'
import { resolveDue } from '../../src/recovery/outcome-resolver.ts'
import { resumeOperation, sweep } from '../../src/recovery/sweeper.ts'
import type { Capabilities } from '../../src/provider/capabilities.ts'
import { captured } from '../operations/made-payments.ts'
import { startTestEngine, type TestEngine } from '../support/engine.ts'
import { stripeOf, withProvider } from '../support/engine-doubles.ts'

let t: TestEngine
let declaring: (capabilities: Partial<Capabilities>) => TestEngine['engine']

beforeAll(async () => {
  const started = await startTestEngine()
  const provider = stripeOf(started.engine)
  declaring = (own) =>
    withProvider(started.engine, {
      ...provider,
      capabilities: { ...provider.capabilities, ...own },
    })
  t = { ...started, engine: declaring({ keys: null }) }
})

afterEach(async () => {
  await t.provider.control('POST', '/reset')
  await t.engine.store.sql`truncate idempotency_keys, payments cascade`
})

afterAll(() => t.stop())

const ignoreKeys = () => t.provider.control('POST', '/idempotency', { mode: 'ignore' })
const run = (ref: OperationRef) => runOperation(t.engine, ref)
const executed = async (kind = 'payment_intent.create') =>
  (await t.provider.executed()).filter((entry) => entry.kind === kind)

const loseAnswers = (path = '/v1/payment_intents') =>
  t.provider.addFault({ match: { method: 'POST', path }, fault: 'reset_after' })
const hideRecords = () =>
  t.provider.addFault({ match: { method: 'GET' }, fault: 'unavailable', times: 9 })

describe('a call whose answer was lost', () => {
  test('is looked up at once, within the lease, and not repeated', async () => {
    await ignoreKeys()
    await loseAnswers()
    const ref = await t.accept()

    expect(await run(ref)).toBe('finished')

    expect(await executed()).toHaveLength(1)
    expect(await t.readKey(ref)).toMatchObject({ response_status: 201, attempts: 1 })
  })

  test('leaves the outcome unknown if it is not found, and is looked up later', async () => {
    await ignoreKeys()
    await loseAnswers()
    await hideRecords()
    const ref = await t.accept()

    expect(await run(ref)).toBe('gave_up')
    expect(await t.readKey(ref)).toMatchObject({ status: 'unknown', in_doubt: true })
    await t.provider.control('DELETE', '/faults')
    await t.letTimePass(ref, 5)

    expect(await resolveDue(t.engine)).toMatchObject({ settled: 1 })
    expect(await executed()).toHaveLength(1)
  })
})

describe('a call of an owner that died', () => {
  const died = async () => {
    await ignoreKeys()
    const ref = await t.accept()
    // As if the process had died right after the provider executed the call.
    await t.engine.claim(ref, 1_000)
    await t.provider.stripe.paymentIntents.create({
      amount: 1999,
      currency: 'eur',
      confirm: true,
      return_url: 'https://example.com/',
      capture_method: 'manual',
      payment_method: 'pm_card_visa',
      allowed_payment_method_types: ['card'],
      metadata: { operation_id: ref.id },
    })
    await t.expireLease(ref)
    return ref
  }

  test('is parked by the sweeper', async () => {
    const ref = await died()

    expect(await sweep(t.engine)).toMatchObject({ resumed: 0, parked: 1 })

    expect(await t.readKey(ref)).toMatchObject({ status: 'unknown', in_doubt: true })
  })

  test('is not repeated by a worker that takes over from its own job', async () => {
    const ref = await died()

    expect(await run(ref)).toBe('gave_up')

    expect(await executed()).toHaveLength(1)
    expect(await t.readKey(ref)).toMatchObject({ status: 'unknown' })
  })

  test('is not repeated when an operator resumes the operation', async () => {
    const ref = await died()

    const resumed = await inTransaction(t.engine.store.sql, (tx) =>
      resumeOperation(tx, t.engine, ref),
    )

    expect(resumed).toBe('requeued')
    expect(await run(ref)).toBe('gave_up')
    expect(await executed()).toHaveLength(1)
  })
})

describe('a refund that is not found', () => {
  const lost = async (fault = 'reset_before') => {
    const payment = await captured(t)
    await ignoreKeys()
    await t.provider.addFault({ match: { path: '/v1/refunds' }, fault })
    const ref = await t.acceptRefund(payment, 500)
    expect(await run(ref)).toBe('gave_up')
    return ref
  }

  test('stays unknown before the settling time', async () => {
    const ref = await lost()
    await t.letTimePass(ref, 5)

    expect(await resolveDue(t.engine)).toMatchObject({ absent: 0, unclear: 1 })
  })

  // A provider without keys keeps no failure that it could complete later.
  test('is proved absent after the settling time, and its retry is not in doubt', async () => {
    const ref = await lost()
    await t.letTimePass(ref, 60)

    expect(await resolveDue(t.engine)).toMatchObject({ absent: 1, found: 0 })

    expect(await t.readKey(ref)).toMatchObject({ status: 'failed_retryable', phase_began_at: null })
    await reopenOperation(t.engine, ref)
    expect(await run(ref)).toBe('finished')
    expect(await executed('refund.create')).toHaveLength(1)
  })

  test('stays unknown if the provider stores no ids of ours, and becomes a finding', async () => {
    const blind = declaring({ keys: null, lookUpLagSeconds: null })
    const ref = await lost()
    await t.letTimePass(ref, 60)
    expect(await resolveDue(blind)).toMatchObject({ absent: 0, unclear: 1 })
    await t.letTimePass(ref, 100_000)

    expect(await resolveDue(blind)).toMatchObject({ absent: 0, found: 1 })

    expect(await t.readKey(ref)).toMatchObject({ status: 'unknown' })
  })

  test('stays unknown if the adapter reports a stored failure, and becomes a finding', async () => {
    const ref = await lost('error_500_before')
    await t.letTimePass(ref, 5)
    await resolveDue(t.engine)
    await t.letTimePass(ref, 60)
    expect(await resolveDue(t.engine)).toMatchObject({ absent: 0, unclear: 1 })
    await t.letTimePass(ref, 30)

    expect(await resolveDue(t.engine)).toMatchObject({ found: 1 })

    expect(await t.readKey(ref)).toMatchObject({ status: 'unknown' })
  })

  test('is not repeated by its client on the word of an operator', async () => {
    const ref = await lost()
    const evidence = {
      claim: randomUUID(),
      proved_absent: true,
      by: 'eve',
      note: 'not in the list',
    } as const
    await requestCheckIfUnknown(t.engine.store.sql, ref, evidence)
    await resolveDue(t.engine)
    await reopenOperation(t.engine, ref)

    expect(await run(ref)).toBe('gave_up')

    expect(await executed('refund.create')).toHaveLength(0)
    expect(await t.readKey(ref)).toMatchObject({ status: 'unknown' })
  })
})
