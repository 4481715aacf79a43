// Tests a comparison of a window in which the engine is working: the provider's list is already
// outdated, which must not count as a difference.
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { insertRun } from '../../src/db/reconciliation/reconciliation-runs.ts'
import { applyProviderEvent } from '../../src/operations/follow-payment/apply-provider-event.ts'
import { runOperation } from '../../src/engine/run-phases.ts'
import type { PaymentProvider } from '../../src/provider/payment-provider.ts'
import { carryOutRun } from '../../src/reconciliation/carry-out-run.ts'
import { captured, held } from '../operations/made-payments.ts'
import { runWaiting } from '../operations/follow-payment/provider-events.ts'
import { startTestEngine, type Accepted, type TestEngine } from '../support/engine.ts'

let t: TestEngine

beforeEach(async () => {
  t = await startTestEngine()
})

afterEach(async () => {
  await t.stop()
})

const HOUR_MS = 60 * 60 * 1_000

async function compareNow(provider: Partial<PaymentProvider> = {}) {
  const now = Date.now()
  const run = await insertRun(t.engine.store.sql, {
    provider: 'stripe',
    from: new Date(now - HOUR_MS),
    to: new Date(now + HOUR_MS),
    requestedBy: 'test',
  })
  const parts = { ...t.engine, provider: { ...t.engine.provider, ...provider } }
  return await carryOutRun(parts, run.id)
}

async function kindsFound() {
  const rows = await t.engine.store.sql`select kind from reconciliation_findings`
  return rows.map((row) => String(row['kind']))
}

/** Runs an action after the provider listed its payments, and before they are compared. */
function afterListing(happen: () => Promise<void>): Partial<PaymentProvider> {
  return {
    async *listPayments(window) {
      for await (const page of t.engine.provider.listPayments(window)) {
        await happen()
        yield page
      }
    },
  }
}

test('payments of the engine agree with the provider', async () => {
  const payment = await captured(t)
  await runOperation(t.engine, await t.acceptRefund(payment, 500))
  await held(t)

  const counts = await compareNow()

  expect(counts).toMatchObject({ payments: 2, refunds: 1, movements: 2, found: 0, in_motion: 0 })
})

test('a payment that is captured after it was listed as held is not a difference', async () => {
  const payment = await held(t)

  const counts = await compareNow(
    afterListing(async () => {
      await runOperation(t.engine, await t.acceptCapture(payment))
    }),
  )

  expect(counts).toMatchObject({ payments: 1, found: 0, repaired: 0 })
  expect(await kindsFound()).toEqual([])
})

test('a payment that is captured between the two looks is not a difference, in either direction', async () => {
  const payment = await held(t)
  const { provider } = t.engine

  const counts = await compareNow({
    async *listPayments(window) {
      // A different amount, which makes a second look necessary.
      for await (const page of provider.listPayments(window)) {
        yield page.map((record) => ({ ...record, amountMinor: 1 }))
      }
    },
    async readPayment(id) {
      await runOperation(t.engine, await t.acceptCapture(payment))
      const record = await provider.readPayment(id)
      return record && { ...record, amountMinor: 1 }
    },
  })

  expect(counts).toMatchObject({ found: 0, in_motion: 1 })
})

test('an operation in progress is not judged', async () => {
  const ref = await t.accept()
  const create = (await compareNow())?.found
  const payment = await held(t)
  await t.acceptCapture(payment)

  const capture = await compareNow()

  expect(create).toBe(0)
  expect(capture).toMatchObject({ found: 0, in_motion: 1 })
  expect(await t.readPayment(ref)).toMatchObject({ status: 'processing' })
})

test('a payment captured outside of this service is followed by the usual phases to its end', async () => {
  const payment = await held(t)
  const { providerPaymentId } = await t.readPayment(payment)
  await t.provider.stripe.paymentIntents.capture(providerPaymentId ?? '')

  const counts = await compareNow()
  const [event] = await t.engine.store.sql<{ provider: string; id: string }[]>`
    select provider, id from provider_events where type = 'comparison'
  `
  if (event === undefined) throw new Error('no event was stored')
  await applyProviderEvent(t.engine, event)
  await runWaiting(t)

  expect(counts).toMatchObject({ repaired: 1, found: 0 })
  expect(await t.readPayment(payment)).toMatchObject({ status: 'succeeded' })
  expect(await compareNow()).toMatchObject({ repaired: 0, found: 0, in_motion: 0 })
})

/** Runs an operation whose calls are all executed and never answered, until it is given up. */
async function runIntoTheUnknown(ref: Accepted): Promise<void> {
  await t.provider.addFault({ match: { method: 'POST' }, fault: 'reset_after', times: 1_000 })
  let result = await runOperation(t.engine, ref)
  for (let run = 0; result === 'retry' && run < 200; run += 1) {
    result = await runOperation(t.engine, ref)
  }
  await t.provider.control('DELETE', '/faults')
  await t.engine.store.sql`
    update idempotency_keys set next_check_at = now() + interval '1 day' where status = 'unknown'
  `
}

/** Makes the provider list only its movements. */
const movementsOnly: Partial<PaymentProvider> = {
  async *listPayments() {},
  async *listRefunds() {},
}

test('the movement of a refund with an unknown outcome is not judged, and triggers a check', async () => {
  const ref = await t.acceptRefund(await captured(t), 500)
  await runIntoTheUnknown(ref)
  const { status, providerRefundId } = await t.readRefund(ref)

  const counts = await compareNow(movementsOnly)

  expect({ status, providerRefundId }).toEqual({ status: 'unknown', providerRefundId: null })
  expect(counts).toMatchObject({ movements: 2, checks: 1, found: 0 })
  expect(await kindsFound()).toEqual([])
  expect(await compareNow()).toMatchObject({ found: 0 })
}, 60_000)

test('the movement of a refund in progress is not judged', async () => {
  const ref = await t.acceptRefund(await captured(t), 500)
  const [payment, refund] = [await t.readPayment(ref), await t.readRefund(ref)]
  const identity = { providerKey: 'atomic_refund', operationId: ref.id }
  const executed = await t.engine.provider.calls.refund.execute({ payment, refund }, identity)

  const counts = await compareNow(movementsOnly)

  expect(executed.outcome).toBe('done')
  expect(counts).toMatchObject({ movements: 2, in_motion: 1, found: 0 })
  expect(await kindsFound()).toEqual([])
})

test('the movement of a payment that does not name the provider’s yet is not judged', async () => {
  const ref = await t.accept()
  const payment = await t.readPayment(ref)
  const identity = { providerKey: 'atomic_authorize', operationId: ref.id }
  const made = await t.engine.provider.calls.authorize.execute({ payment }, identity)
  if (made.outcome !== 'done') throw new Error('the payment was not authorized')
  await t.provider.stripe.paymentIntents.capture(made.value.providerPaymentId)

  const counts = await compareNow(movementsOnly)

  expect(payment).toMatchObject({ status: 'processing', providerPaymentId: null })
  expect(counts).toMatchObject({ movements: 1, in_motion: 1, found: 0 })
  expect(await kindsFound()).toEqual([])
})

test('the movement of a refund that names ours, while ours does not name it, is a finding', async () => {
  const ref = await t.acceptRefund(await captured(t), 500)
  await runOperation(t.engine, ref)
  const [payment, refund] = [await t.readPayment(ref), await t.readRefund(ref)]
  const identity = { providerKey: 'atomic_again', operationId: ref.id }
  await t.engine.provider.calls.refund.execute({ payment, refund }, identity)

  await compareNow(movementsOnly)

  expect(await kindsFound()).toEqual(['missing_here'])
})

test('an unknown outcome whose record the provider has is checked at once', async () => {
  const ref = await t.accept()
  await runIntoTheUnknown(ref)
  const { status } = await t.readPayment(ref)

  const counts = await compareNow()

  expect(status).toBe('unknown')
  expect(counts).toMatchObject({ checks: 1, found: 0 })
  const due = await t.engine.store.sql`
    select from idempotency_keys where status = 'unknown' and next_check_at <= now()
  `
  expect(due.count).toBe(1)
}, 60_000)
