// Tests what becomes of a refund after its answer: it ends later, or fails although it succeeded.
// Lost, repeated, reordered and early events lead to the same state.
import { beforeEach, describe, expect, test } from '@jest/globals'
import { showPaymentId } from '../../../src/domain/payments/payment.ts'
import { runOperation } from '../../../src/engine/run-phases.ts'
import { aroundCall } from '../../support/engine-doubles.ts'
import { emptyTables } from '../../support/empty-tables.ts'
import type { PaymentRef } from '../../support/engine.ts'
import { t } from '../../support/own-engine.ts'
import { eventsOf, postingsOf } from '../../support/records.ts'
import {
  applyAll,
  applyComparisons,
  compare,
  deliver,
  eventAbout,
} from '../follow-payment/provider-events.ts'
import { AMOUNT_MINOR } from '../amount.ts'

const REFUNDED_MINOR = 500

interface Refunded {
  readonly payment: PaymentRef
  readonly refundId: string
  /** The refund at the provider. */
  readonly objectId: string
}

/** A captured payment with a refund, whose answer is recorded. */
async function refunded(paymentMethod: string): Promise<Refunded> {
  const accepted = await t.accept({ paymentMethod })
  await runOperation(t.engine, accepted)
  const payment = { tenantId: accepted.tenantId, paymentId: accepted.paymentId }
  const ref = await t.acceptRefund(payment, REFUNDED_MINOR)
  expect(await runOperation(t.engine, ref)).toBe('finished')
  const { providerRefundId } = await t.readRefund(ref)
  return { payment, refundId: ref.refundId, objectId: providerRefundId ?? '' }
}

const pending = () => refunded('pm_card_pendingRefund')
const succeeded = () => refunded('pm_card_visa')

async function settle({ objectId }: Refunded, status: string, failure_reason?: string) {
  await t.provider.control('POST', `/refunds/${objectId}/settle`, { status, failure_reason })
}

/** The provider's event about a refund. */
async function eventOf({ payment, objectId }: Refunded, type = 'refund.updated') {
  return eventAbout(
    { ...(await t.readPayment(payment)), tenantId: payment.tenantId },
    { type, objectId },
  )
}

/** What the merchant and the books see of a refund. */
async function stateOf({ payment, refundId }: Refunded) {
  const { store } = t.engine
  const shown = showPaymentId(payment.paymentId)
  const { amountRefundedMinor, amountRefundingMinor } = await t.readPayment(payment)
  const { status, failure } = await t.readRefund({ refundId })
  const postings = await postingsOf(store, shown)
  return {
    status,
    failure: failure?.code ?? null,
    refunded: amountRefundedMinor,
    reserved: amountRefundingMinor,
    ledger: postings.map(({ kind, amount }) => `${kind} ${amount}`).toSorted(),
    events: (await eventsOf(store, shown)).filter((type) => type.startsWith('refund.')),
  }
}

const captureAndRefund = [`capture ${AMOUNT_MINOR}`, `refund ${REFUNDED_MINOR}`]
const andBack = [...captureAndRefund, `refund_failure ${REFUNDED_MINOR}`]

const failedLater = {
  status: 'failed',
  failure: 'lost_or_stolen_card',
  refunded: 0,
  reserved: 0,
  ledger: andBack,
  events: ['refund.created', 'refund.succeeded', 'refund.failed'],
}

describe('a refund that is pending', () => {
  test('keeps its amount reserved, and its money has moved', async () => {
    expect(await stateOf(await pending())).toEqual({
      status: 'pending',
      failure: null,
      refunded: 0,
      reserved: REFUNDED_MINOR,
      ledger: captureAndRefund,
      events: ['refund.created', 'refund.pending'],
    })
  })

  test('succeeds when the provider says so', async () => {
    const refund = await pending()
    await settle(refund, 'succeeded')

    expect(await applyAll(t, [await deliveredOf(refund)])).toEqual(['applied'])

    expect(await stateOf(refund)).toMatchObject({
      status: 'succeeded',
      refunded: REFUNDED_MINOR,
      reserved: 0,
      ledger: captureAndRefund,
    })
  })

  test.each(['failed', 'canceled'] as const)(
    'that is %s releases its amount, and its money is back',
    async (status) => {
      const refund = await pending()
      await settle(refund, status)

      await applyAll(t, [await deliveredOf(refund)])

      expect(await stateOf(refund)).toEqual({
        status,
        failure: status === 'failed' ? 'unknown' : null,
        refunded: 0,
        reserved: 0,
        ledger: andBack,
        events: ['refund.created', 'refund.pending', `refund.${status}`],
      })
      const again = await t.acceptRefund(refund.payment, AMOUNT_MINOR)
      expect(await runOperation(t.engine, again)).toBe('finished')
    },
  )

  test('waits for the balance, and posts nothing until its money moves', async () => {
    const accepted = await t.accept({ paymentMethod: 'pm_card_pendingRefund' })
    await runOperation(t.engine, accepted)
    const ref = await t.acceptRefund(accepted, REFUNDED_MINOR)
    // Without enough on the balance, Stripe moves nothing yet.
    const waiting = aroundCall(t.engine, 'refund', async (original) => {
      const outcome = await original()
      return outcome.outcome === 'done'
        ? { ...outcome, value: { ...(outcome.value as object), moved: false } }
        : outcome
    })
    await runOperation(waiting, ref)
    const { providerRefundId: objectId } = await t.readRefund(ref)
    const refund = { payment: accepted, refundId: ref.refundId, objectId: objectId ?? '' }
    expect(await stateOf(refund)).toMatchObject({ ledger: [`capture ${AMOUNT_MINOR}`] })

    await applyAll(t, [await deliveredOf(refund)])

    expect(await stateOf(refund)).toMatchObject({
      status: 'pending',
      ledger: captureAndRefund,
      events: ['refund.created', 'refund.pending'],
    })
  })
})

/** Stores an event of the refund. */
async function deliveredOf(refund: Refunded, type?: string) {
  const event = await eventOf(refund, type)
  await deliver(t.engine, event)
  return event
}

describe('a refund that fails after it succeeded', () => {
  test('releases its amount, and its money is back', async () => {
    const refund = await succeeded()
    await settle(refund, 'failed', 'lost_or_stolen_card')

    await applyAll(t, [await deliveredOf(refund, 'refund.failed')])

    expect(await stateOf(refund)).toEqual(failedLater)
  })

  test('once, however often and in any order its events come', async () => {
    const refund = await succeeded()
    await settle(refund, 'failed', 'lost_or_stolen_card')
    const types = ['charge.refund.updated', 'refund.failed', 'refund.updated', 'refund.created']
    const events = await Promise.all(types.map((type) => deliveredOf(refund, type)))

    await applyAll(t, [...events, ...events.toReversed()])

    expect(await stateOf(refund)).toEqual(failedLater)
  })

  test('is followed by concurrent operations of two events once', async () => {
    const refund = await succeeded()
    await settle(refund, 'failed', 'lost_or_stolen_card')
    const events = [await deliveredOf(refund), await deliveredOf(refund, 'refund.failed')]

    const running = await t.engine.store.sql<{ tenantId: string; id: string }[]>`
      select tenant_id as "tenantId", id from idempotency_keys
      where operation = 'refund.follow' and status = 'pending'
    `
    expect(running).toHaveLength(2)
    await Promise.allSettled(running.map((ref) => runOperation(t.engine, ref)))
    for (const ref of running) await t.expireLease(ref)
    await Promise.allSettled(running.map((ref) => runOperation(t.engine, ref)))
    await applyAll(t, events)

    expect(await stateOf(refund)).toEqual(failedLater)
  })

  test('before the answer to its creation is recorded, and its event is early', async () => {
    const accepted = await t.accept({})
    await runOperation(t.engine, accepted)
    const ref = await t.acceptRefund(accepted, REFUNDED_MINOR)
    let refund: Refunded | undefined
    let event: Awaited<ReturnType<typeof eventOf>> | undefined
    const slow = aroundCall(t.engine, 'refund', async (original) => {
      const outcome = await original()
      const { providerRefundId } = (outcome as { value: { providerRefundId: string } }).value
      refund = { payment: accepted, refundId: ref.refundId, objectId: providerRefundId }
      await settle(refund, 'failed', 'lost_or_stolen_card')
      event = await eventOf(refund, 'refund.failed')
      expect(await deliver(t.engine, event)).toBe('pending')
      return outcome
    })
    await runOperation(slow, ref)
    if (refund === undefined || event === undefined) throw new Error('there was no call')
    expect(await t.readRefund(ref)).toMatchObject({ status: 'succeeded' })

    await applyAll(t, [event])

    expect(await stateOf(refund)).toEqual(failedLater)
  })
})

test('a refund that has failed when its lost answer is looked up answers 402', async () => {
  const accepted = await t.accept({})
  await runOperation(t.engine, accepted)
  const ref = await t.acceptRefund(accepted, REFUNDED_MINOR)
  const failing = aroundCall(t.engine, 'refund', async (original) => {
    const outcome = await original()
    const { value } = outcome as { value: object }
    const failure = { code: 'lost_or_stolen_card', declineCode: null, message: 'Failed.' }
    return { ...outcome, value: { ...value, status: 'failed', failure, moved: true } }
  })

  expect(await runOperation(failing, ref)).toBe('finished')

  expect(await t.readKey(ref)).toMatchObject({ response_status: 402 })
  const { providerRefundId } = await t.readRefund(ref)
  const refund = { payment: accepted, refundId: ref.refundId, objectId: providerRefundId ?? '' }
  const events = ['refund.created', 'refund.failed']
  expect(await stateOf(refund)).toEqual({ ...failedLater, events })
})

test("an event of another client's refund changes nothing", async () => {
  const refund = await succeeded()
  const event = await eventOf({ ...refund, objectId: 're_of_another_client' })

  expect(await deliver(t.engine, event)).toBe('ignored')

  expect(await stateOf(refund)).toMatchObject({ status: 'succeeded', ledger: captureAndRefund })
})

describe('when every event is lost, reconciliation', () => {
  const DAY_MS = 24 * 60 * 60 * 1_000

  beforeEach(() => emptyTables(t.engine.store.sql))

  test('finds an old refund that has failed or ended, and no difference in one that is pending', async () => {
    const waiting = await pending()
    const refund = await succeeded()
    expect(await compare(t, 0)).toMatchObject({ repaired: 0, found: 0 })
    await t.provider.control('POST', '/clock', { advance_seconds: (20 * DAY_MS) / 1_000 })
    await settle(refund, 'failed', 'lost_or_stolen_card')

    expect(await compare(t, 20)).toMatchObject({ repaired: 2, found: 0 })
    await applyComparisons(t)

    const ledger = [...andBack, 'provider_fee 88'].toSorted()
    expect(await stateOf(refund)).toEqual({ ...failedLater, ledger })
    expect(await stateOf(waiting)).toMatchObject({ status: 'succeeded' })
    expect(await compare(t, 20)).toMatchObject({ repaired: 0, found: 0 })
  })
})
