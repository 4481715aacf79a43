// Tests that a worker, a cancellation and the reaper keep the key of each operation for the retention of
// that operation.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { inTransaction } from '../../src/db/connection/transaction.ts'
import { requestCancellation } from '../../src/db/idempotency/cancellations.ts'
import { CANCELLATION, keyOfCancellation } from '../../src/domain/events/provider-event.ts'
import type { OperationRef } from '../../src/domain/operations/operation.ts'
import { cancelOperation } from '../../src/engine/reopen-or-cancel.ts'
import { runOperation } from '../../src/engine/run-phases.ts'
import { applyProviderEvent } from '../../src/operations/apply-provider-event.ts'
import { reap } from '../../src/recovery/reaper.ts'
import { secondsAhead } from '../db/reservations.ts'
import { aroundCall, withoutRetries } from '../support/engine-doubles.ts'
import { startTestEngine, type TestEngine } from '../support/engine.ts'
import { expireKeys } from '../support/expired-keys.ts'
import { held } from './made-payments.ts'

const DAY = 86_400
const WEEK = 7 * DAY
const MONTH = 30 * DAY

let t: TestEngine

beforeAll(async () => {
  t = await startTestEngine({
    KEY_RETENTION_SECONDS: DAY,
    KEY_RETENTION_SECONDS_BY_OPERATION: { 'payment.capture': WEEK, 'refund.create': MONTH },
  })
})
afterAll(() => t.stop())

async function expectKept(ref: OperationRef, seconds: number): Promise<void> {
  const ahead = await secondsAhead(t.engine.store.sql, (await t.readKey(ref))['expires_at'])
  expect(Math.abs(ahead - seconds)).toBeLessThan(60)
}

const begin = {
  'payment.create': () => t.accept(),
  'payment.capture': async () => t.acceptCapture(await held(t)),
}
const retentions = [
  ['payment.create', DAY],
  ['payment.capture', WEEK],
] as const

/** The provider executes nothing of the first call. */
const refusing = () =>
  (['authorize', 'capture'] as const).reduce(
    (engine, call) =>
      aroundCall(engine, call, () =>
        Promise.resolve({ outcome: 'not_executed', reason: 'closed', asked: {}, answered: {} }),
      ),
    withoutRetries(t.engine),
  )

describe.each(retentions)('%s', (operation, seconds) => {
  test('is kept from its final answer', async () => {
    const ref = await begin[operation]()
    await expireKeys(t.engine.store.sql, ref)

    expect(await runOperation(t.engine, ref)).toBe('finished')

    await expectKept(ref, seconds)
  })

  test('is kept from its failure, and from the timeout that ends it', async () => {
    const ref = await begin[operation]()
    await expireKeys(t.engine.store.sql, ref)
    expect(await runOperation(refusing(), ref)).toBe('gave_up')
    await expectKept(ref, seconds)

    await expireKeys(t.engine.store.sql, ref)
    const settings = { TOMBSTONE_RETENTION_SECONDS: DAY, REAP_BATCH_SIZE: 10 }
    const parts = { ...t.engine.settings, ...settings, STORE_TIMEOUT_MS: 5_000 }
    expect(await reap(t.engine, parts)).toMatchObject({ timed_out: 1 })
    await expectKept(ref, seconds)
  })

  test('is kept from its cancellation', async () => {
    const ref = await begin[operation]()
    await expireKeys(t.engine.store.sql, ref)

    expect(await cancelOperation(t.engine, ref)).toBe(true)

    await expectKept(ref, seconds)
  })
})

test('the refund of a canceled payment is kept as a refund', async () => {
  const { sql } = t.engine.store
  const ref = await t.accept()
  await runOperation(t.engine, ref)
  const canceling = { provider: 'stripe', retentionSeconds: DAY }
  await inTransaction(sql, (tx) => requestCancellation(tx, ref, canceling))

  await applyProviderEvent(t.engine, { provider: 'stripe', id: `${CANCELLATION}_${ref.id}` })

  const refund = await t.findOperation({ key: keyOfCancellation('refund', ref.id) })
  await expectKept(refund, MONTH)
})
