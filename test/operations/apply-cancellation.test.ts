// Tests the cancellation of a key at every moment of its operation: what the client asked for does not
// happen, or is undone, and a card is never charged a second time.
import { describe, expect, test } from '@jest/globals'
import { requestCancellation } from '../../src/db/idempotency/cancellations.ts'
import { deleteExpiredKeys, reap } from '../../src/recovery/reaper.ts'
import { findIdempotencyKey, reopenIfFailed } from '../../src/db/idempotency/idempotency-keys.ts'
import { inTransaction } from '../../src/db/connection/transaction.ts'
import {
  CANCELLATION,
  keyOfCancellation,
  type ProviderEventRef,
} from '../../src/domain/events/provider-event.ts'
import { showPaymentId } from '../../src/domain/payments/payment.ts'
import { cancelOperation } from '../../src/engine/reopen-or-cancel.ts'
import { runOperation } from '../../src/engine/run-phases.ts'
import { applyProviderEvent } from '../../src/operations/apply-provider-event.ts'
import type { CallName } from '../../src/provider/calls.ts'
import type { OperationRef } from '../../src/domain/operations/operation.ts'
import { resolveDue } from '../../src/recovery/outcome-resolver.ts'
import { aroundCall, withoutRetries } from '../support/engine-doubles.ts'
import { expireKeys } from '../support/expired-keys.ts'
import type { Accepted, PaymentRef } from '../support/engine.ts'
import { applyAll, deliver, eventAbout, runWaiting } from './follow-payment/provider-events.ts'
import { captured, held } from './made-payments.ts'
import { t } from '../support/own-engine.ts'

/** As the API does: at once if nothing has begun, else by an event. */
async function cancel({ tenantId, id, paymentId }: Accepted): Promise<'now' | 'later' | 'refused'> {
  if (await cancelOperation(t.engine, { tenantId, id })) return 'now'
  const isRequested = await inTransaction(t.engine.store.sql, (tx) =>
    requestCancellation(
      tx,
      { tenantId, id, paymentId },
      { provider: 'stripe', retentionSeconds: t.engine.settings.KEY_RETENTION_SECONDS },
    ),
  )
  return isRequested ? 'later' : 'refused'
}

const eventOf = ({ id }: Accepted): ProviderEventRef => ({
  provider: 'stripe',
  id: `${CANCELLATION}_${id}`,
})

/** Lets workers work, in the order of their queues, until the cancellation has ended. */
async function finishCancellation(ref: Accepted): Promise<unknown> {
  for (let round = 0; round < 10; round += 1) {
    const result = await applyProviderEvent(t.engine, eventOf(ref))
    if (result !== 'pending') return (await t.readKey(ref))['cancellation']
    await runWaiting(t)
  }
  throw new Error('the cancellation stays in progress')
}

async function expectRefunded(ref: PaymentRef): Promise<void> {
  const { amountMinor: amountRefundedMinor } = await t.readPayment(ref)
  expect(await t.readPayment(ref)).toMatchObject({ status: 'succeeded', amountRefundedMinor })
}

const openCall = { reason: 'no answer', asked: {}, answered: {} }
const declined = {
  outcome: 'declined',
  failure: { code: 'generic_decline', declineCode: null, message: 'declined' },
  providerPaymentId: null,
  asked: {},
  answered: {},
}

/** An engine whose call is never made, and not tried again. */
const notExecuted = (call: CallName) =>
  aroundCall(withoutRetries(t.engine), call, () =>
    Promise.resolve({ outcome: 'not_executed', ...openCall }),
  )

const declining = (call: CallName) => aroundCall(t.engine, call, () => Promise.resolve(declined))

/** The calls that moved money of the payment at the provider. */
async function executed({ paymentId }: Accepted): Promise<string[]> {
  const { providerPaymentId } = await t.readPayment({ tenantId: t.tenantId, paymentId })
  const calls = await t.provider.executed()
  return calls
    .filter(
      ({ id, metadata }) =>
        id === providerPaymentId || Object.values(metadata).includes(showPaymentId(paymentId)),
    )
    .map(({ kind }) => kind)
}

describe('a payment that no worker has begun', () => {
  test('is canceled at once, and never executed', async () => {
    const ref = await t.accept()

    expect(await cancel(ref)).toBe('now')

    expect(await runOperation(t.engine, ref)).toBe('nothing_to_do')
    expect(await t.readPayment(ref)).toMatchObject({ status: 'canceled', providerPaymentId: null })
    expect(await t.readKey(ref)).toMatchObject({
      status: 'completed',
      cancellation: 'prevented',
      response_status: 410,
    })
    expect(await cancel(ref)).toBe('refused')
  })

  test('is canceled, or run, but not both, when a worker claims it at the same time', async () => {
    const refs = await Promise.all(Array.from({ length: 20 }, () => t.accept()))

    const results = await Promise.all(
      refs.map(async (ref, index) => {
        const run = () => runOperation(t.engine, ref)
        const [first, second] = index % 2 === 0 ? [cancel(ref), run()] : [run(), cancel(ref)]
        const ended = await Promise.all([first, second])
        return ended.includes('now')
      }),
    )

    for (const [index, ref] of refs.entries()) {
      const { status } = await t.readPayment(ref)
      if (results[index] === true) {
        expect([status, await executed(ref)]).toEqual(['canceled', []])
      } else {
        expect(status).toBe('succeeded')
        expect(await finishCancellation(ref)).toBe('undone')
      }
    }
  })

  test('that failed before any effect is over, and no retry reopens it', async () => {
    const ref = await t.accept()
    await runOperation(notExecuted('authorize'), ref)
    expect((await t.readKey(ref))['status']).toBe('failed_retryable')

    expect(await cancel(ref)).toBe('now')

    const reopened = await inTransaction(t.engine.store.sql, (tx) => reopenIfFailed(tx, ref))
    expect(reopened).toBe(false)
    expect((await t.readPayment(ref)).status).toBe('failed')
  })
})

/** Cancels just before, or just after, the provider gets the call. */
async function cancelAround(name: CallName, when: 'before' | 'after', manual = false) {
  const ref = await t.accept({ captureMethod: manual ? 'manual' : 'automatic' })
  let canceled = ''
  const engine = aroundCall(t.engine, name, async (original) => {
    if (when === 'before') canceled = await cancel(ref)
    const outcome = await original()
    if (when === 'after') canceled = await cancel(ref)
    return outcome
  })
  await runOperation(engine, ref)
  expect(canceled).toBe('later')
  return ref
}

describe('a payment that is under way', () => {
  test.each([
    ['authorize', 'before'],
    ['authorize', 'after'],
    ['capture', 'before'],
    ['capture', 'after'],
  ] as const)('is refunded once when it is canceled: %s, %s the call', async (name, when) => {
    const ref = await cancelAround(name, when)

    expect(await finishCancellation(ref)).toBe('undone')
    expect(await applyProviderEvent(t.engine, eventOf(ref))).toBe('applied')

    await expectRefunded(ref)
    const kinds = await executed(ref)
    expect(kinds.filter((kind) => kind.startsWith('refund'))).toHaveLength(1)
  })

  test('waits while its outcome is unknown, and is refunded once it is found', async () => {
    const ref = await t.accept()
    const lost = aroundCall(withoutRetries(t.engine), 'capture', async (original) => {
      await original()
      return { outcome: 'unknown', ...openCall }
    })
    await runOperation(lost, ref)
    expect((await t.readKey(ref))['status']).toBe('unknown')

    expect(await cancel(ref)).toBe('later')
    expect(await applyProviderEvent(t.engine, eventOf(ref))).toBe('pending')
    await t.letTimePass(ref, 3_600)
    await resolveDue(t.engine)

    expect(await finishCancellation(ref)).toBe('undone')
    expect(await t.readPayment(ref)).toMatchObject({ status: 'succeeded' })
  })

  test('is prevented when its call turns out to have had no effect', async () => {
    const ref = await t.accept()
    const engine = aroundCall(withoutRetries(t.engine), 'authorize', async () => {
      await cancel(ref)
      return { outcome: 'not_executed', ...openCall }
    })
    await runOperation(engine, ref)
    expect((await t.readKey(ref))['status']).toBe('failed_retryable')

    expect(await finishCancellation(ref)).toBe('prevented')
    expect(await executed(ref)).toEqual([])
  })

  test('that stopped half-way has its hold released', async () => {
    const ref = await t.accept()
    await runOperation(notExecuted('capture'), ref)
    expect((await t.readKey(ref))['status']).toBe('failed_retryable')

    expect(await cancel(ref)).toBe('later')
    const reopened = await inTransaction(t.engine.store.sql, (tx) => reopenIfFailed(tx, ref))

    expect(reopened).toBe(false)
    expect(await finishCancellation(ref)).toBe('undone')
    expect((await t.readPayment(ref)).status).toBe('canceled')
  })

  test('has its hold released by another cancel when the reaper has given up the first', async () => {
    const ref = await cancelAround('authorize', 'after', true)
    await applyProviderEvent(t.engine, eventOf(ref))
    const own = await findOwn('cancel', ref)
    await runOperation(notExecuted('cancel'), own)
    await giveUp(own)

    expect(await finishCancellation(ref)).toBe('undone')
    expect((await t.readPayment(ref)).status).toBe('canceled')
  })
})

describe('a completed operation', () => {
  test('is refunded by what is left after a refund of its client', async () => {
    const ref = await t.accept()
    await runOperation(t.engine, ref)
    const refund = await t.acceptRefund(ref, 100)
    await cancel(ref)
    await runOperation(t.engine, refund)

    expect(await finishCancellation(ref)).toBe('undone')
    await expectRefunded(ref)
  })

  test('outlives its retention until its payment is refunded', async () => {
    const { sql } = t.engine.store
    const ref = await t.accept()
    await runOperation(t.engine, ref)
    await expireKeys(sql)

    expect(await cancel(ref)).toBe('later')
    await deleteExpiredKeys(sql, 100)

    expect(await finishCancellation(ref)).toBe('undone')
  })

  test('a capture is refunded', async () => {
    const payment = await held(t)
    const ref = await t.acceptCapture(payment)
    await runOperation(t.engine, ref)

    expect(await cancel(ref)).toBe('later')
    expect(await finishCancellation(ref)).toBe('undone')
    await expectRefunded(payment)
  })

  test('a capture that was refused leaves the money of a later one', async () => {
    const payment = await held(t)
    const ref = await t.acceptCapture(payment)
    await runOperation(declining('capture'), ref)
    await runOperation(t.engine, await t.acceptCapture(payment))

    expect(await cancel(ref)).toBe('later')

    expect(await finishCancellation(ref)).toBe('nothing_to_undo')
    expect(await t.readPayment(payment)).toMatchObject({
      status: 'succeeded',
      amountRefundedMinor: 0,
    })
  })
})

/** A captured payment whose key is canceled, before anything is refunded. */
async function canceledPayment(): Promise<Accepted> {
  const ref = await t.accept()
  await runOperation(t.engine, ref)
  expect(await cancel(ref)).toBe('later')
  return ref
}

/** The operation that the cancellation has begun. */
async function findOwn(by: 'cancel' | 'refund', { tenantId, id }: Accepted) {
  const key = await findIdempotencyKey(t.engine.store.sql, tenantId, keyOfCancellation(by, id))
  return { tenantId, id: key?.id ?? '', refundId: key?.refundId ?? '' }
}

const findOwnRefund = (ref: Accepted) => findOwn('refund', ref)

/** Its key expires, and the reaper completes it. */
async function giveUp(ref: OperationRef): Promise<void> {
  await expireKeys(t.engine.store.sql, ref)
  await reap(t.engine, {
    ...t.engine.settings,
    TOMBSTONE_RETENTION_SECONDS: 1_000_000,
    REAP_BATCH_SIZE: 100,
  })
  expect((await t.readKey(ref))['response_status']).toBe(408)
}

/** The bank returns the money of a refund that the provider has accepted. */
async function failAtProvider(ref: Accepted, refund: { refundId: string }): Promise<void> {
  const { providerRefundId } = await t.readRefund(refund)
  const objectId = providerRefundId ?? ''
  await t.provider.control('POST', `/refunds/${objectId}/settle`, { status: 'failed' })
  const payment = await t.readPayment(ref)
  const event = eventAbout(payment, { type: 'refund.failed', objectId })
  await deliver(t.engine, event)
  await applyAll(t, [event])
  expect((await t.readRefund(refund)).status).toBe('failed')
}

describe('what another refund may leave', () => {
  test('is refunded once a refund of the client, which was under way, is declined', async () => {
    const ref = await canceledPayment()
    const refund = await t.acceptRefund(ref)

    expect(await applyProviderEvent(t.engine, eventOf(ref))).toBe('pending')
    expect((await t.readKey(ref))['cancellation']).toBe('in_progress')
    await runOperation(declining('refund'), refund)

    expect(await finishCancellation(ref)).toBe('undone')
    await expectRefunded(ref)
  })

  test('is refunded when the client refunds a part before the refund of all is repeated', async () => {
    const ref = await canceledPayment()
    await applyProviderEvent(t.engine, eventOf(ref))
    await runOperation(notExecuted('refund'), await findOwnRefund(ref))
    await runOperation(t.engine, await t.acceptRefund(ref, 100))

    expect(await finishCancellation(ref)).toBe('undone')
    await expectRefunded(ref)
  })

  test('is refunded when a refund of the client fails at the provider meanwhile', async () => {
    const ref = await t.accept()
    await runOperation(t.engine, ref)
    const refund = await t.acceptRefund(ref, 100)
    await runOperation(t.engine, refund)
    await cancel(ref)
    await applyProviderEvent(t.engine, eventOf(ref))
    await runWaiting(t)
    await failAtProvider(ref, refund)

    expect(await finishCancellation(ref)).toBe('undone')
    await expectRefunded(ref)
  })

  test('is refunded by another refund when the reaper has given up the first', async () => {
    const ref = await canceledPayment()
    await applyProviderEvent(t.engine, eventOf(ref))
    const own = await findOwnRefund(ref)
    await runOperation(notExecuted('refund'), own)
    await giveUp(own)

    expect(await finishCancellation(ref)).toBe('undone')
    await expectRefunded(ref)
  })

  test('is not refunded again when the refund of the cancellation fails at the provider', async () => {
    const ref = await canceledPayment()
    await applyProviderEvent(t.engine, eventOf(ref))
    await runWaiting(t)
    await failAtProvider(ref, await findOwnRefund(ref))

    expect(await finishCancellation(ref)).toBe('refused')
    expect((await t.readPayment(ref)).amountRefundedMinor).toBe(0)
  })

  test('does not change a cancellation that has ended', async () => {
    const ref = await canceledPayment()
    expect(await finishCancellation(ref)).toBe('undone')

    await failAtProvider(ref, await findOwnRefund(ref))

    expect((await t.readKey(ref))['cancellation']).toBe('undone')
  })
})

describe('an operation on a payment that no worker has begun', () => {
  test('a capture is canceled, and the money stays held', async () => {
    const payment = await held(t)
    const ref = await t.acceptCapture(payment)

    expect(await cancel(ref)).toBe('now')

    expect((await t.readPayment(payment)).status).toBe('requires_capture')
    expect(await runOperation(t.engine, ref)).toBe('nothing_to_do')
  })

  test('a refund is canceled, and its amount can be refunded again', async () => {
    const payment = await captured(t)
    const ref = await t.acceptRefund(payment)

    expect(await cancel(ref)).toBe('now')

    expect((await t.readRefund(ref)).status).toBe('failed')
    const again = await t.acceptRefund(payment)
    await runOperation(t.engine, again)
    expect((await t.readRefund(again)).status).toBe('succeeded')
  })

  test('a refund that is under way is left as it is', async () => {
    const payment = await captured(t)
    const ref = await t.acceptRefund(payment)
    const engine = aroundCall(t.engine, 'refund', async (original) => {
      expect(await cancel(ref)).toBe('later')
      return await original()
    })
    await runOperation(engine, ref)

    expect(await finishCancellation(ref)).toBe('refused')
    expect((await t.readRefund(ref)).status).toBe('succeeded')
  })
})
