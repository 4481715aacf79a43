// Tests a comparison of a window in which the engine is working: the provider's list is already
// outdated, which must not count as a difference.
import { beforeEach, describe, expect, test } from '@jest/globals'
import { insertRun } from '../../src/reconciliation/runs.ts'
import { setTenantFees } from '../../src/db/tenants/tenants.ts'
import { applyProviderEvent } from '../../src/operations/apply-provider-event.ts'
import { runOperation } from '../../src/engine/run-phases.ts'
import type { PaymentProvider } from '../../src/provider/payment-provider.ts'
import { carryOutRun } from '../../src/reconciliation/carry-out-run.ts'
import { captured, held } from '../operations/made-payments.ts'
import { runWaiting } from '../operations/follow-payment/provider-events.ts'
import { emptyTables } from '../support/empty-tables.ts'
import type { Accepted } from '../support/engine.ts'
import { stripeOf, withoutRetries, withProvider } from '../support/engine-doubles.ts'
import { t } from '../support/own-engine.ts'

beforeEach(() => emptyTables(t.engine.store.sql))

const HOUR_MS = 60 * 60 * 1_000

async function compareNow(provider: Partial<PaymentProvider> = {}) {
  const now = Date.now()
  const run = await insertRun(t.engine.store.sql, {
    provider: 'stripe',
    from: new Date(now - HOUR_MS),
    to: new Date(now + HOUR_MS),
    requestedBy: 'test',
  })
  const parts = withProvider(t.engine, { ...stripeOf(t.engine), ...provider })
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
      for await (const page of stripeOf(t.engine).listPayments(window)) {
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
  const provider = stripeOf(t.engine)

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

test('an operation in progress is not judged, and is counted', async () => {
  const ref = await t.accept()
  const create = await compareNow()
  const payment = await held(t)
  await t.acceptCapture(payment)

  const capture = await compareNow()

  // The provider has no record yet.
  expect(create).toMatchObject({ payments: 0, found: 0, in_motion: 1 })
  expect(capture).toMatchObject({ found: 0, in_motion: 2 })
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
  expect(await runOperation(withoutRetries(t.engine), ref)).toBe('gave_up')
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
})

test('a payment in progress that the provider already lists is counted once', async () => {
  const ref = await t.accept()
  const payment = await t.readPayment(ref)
  const identity = { providerKey: 'atomic_authorize', operationId: ref.id, sendBeforeMs: Infinity }
  await stripeOf(t.engine).calls.authorize.execute({ payment }, identity)

  expect(await compareNow()).toMatchObject({ payments: 1, in_motion: 1, found: 0 })
})

test('the movement of a refund in progress is not judged', async () => {
  const ref = await t.acceptRefund(await captured(t), 500)
  const [payment, refund] = [await t.readPayment(ref), await t.readRefund(ref)]
  const identity = { providerKey: 'atomic_refund', operationId: ref.id, sendBeforeMs: Infinity }
  const executed = await stripeOf(t.engine).calls.refund.execute({ payment, refund }, identity)

  const counts = await compareNow(movementsOnly)

  expect(executed.outcome).toBe('done')
  // The refund and its movement.
  expect(counts).toMatchObject({ movements: 2, in_motion: 2, found: 0 })
  expect(await kindsFound()).toEqual([])
})

test('the movement of a payment that does not name the provider’s yet is not judged', async () => {
  const ref = await t.accept()
  const payment = await t.readPayment(ref)
  const identity = { providerKey: 'atomic_authorize', operationId: ref.id, sendBeforeMs: Infinity }
  const made = await stripeOf(t.engine).calls.authorize.execute({ payment }, identity)
  if (made.outcome !== 'done') throw new Error('the payment was not authorized')
  await t.provider.stripe.paymentIntents.capture(made.value.providerPaymentId)

  const counts = await compareNow(movementsOnly)

  expect(payment).toMatchObject({ status: 'processing', providerPaymentId: null })
  // The payment and its movement.
  expect(counts).toMatchObject({ movements: 1, in_motion: 2, found: 0 })
  expect(await kindsFound()).toEqual([])
})

test('the movement of a refund that names ours, while ours does not name it, is a finding', async () => {
  const ref = await t.acceptRefund(await captured(t), 500)
  await runOperation(t.engine, ref)
  const [payment, refund] = [await t.readPayment(ref), await t.readRefund(ref)]
  const identity = { providerKey: 'atomic_again', operationId: ref.id, sendBeforeMs: Infinity }
  await stripeOf(t.engine).calls.refund.execute({ payment, refund }, identity)

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
})

async function feesPosted() {
  const rows = await t.engine.store.sql`
    select payment_id, refund_id, debit, credit, amount_minor::float8 as amount_minor, currency
    from ledger_postings
    where kind = 'provider_fee' order by created_at
  `
  return [...rows]
}

describe('fees of the provider', () => {
  test('are posted once for each capture, however often it is compared', async () => {
    const payment = await captured(t)
    await runOperation(t.engine, await t.acceptRefund(payment, 500))

    const first = await compareNow()
    const again = await Promise.all([compareNow(), compareNow()])

    expect(first).toMatchObject({ fees: 1, found: 0 })
    expect(again).toMatchObject([{ fees: 0 }, { fees: 0 }])
    expect(await feesPosted()).toEqual([
      {
        payment_id: payment.paymentId,
        refund_id: null,
        debit: 'provider_fees',
        credit: 'provider_receivable',
        amount_minor: 88,
        currency: 'usd',
      },
    ])
  })

  test('are posted once by two runs at the same time', async () => {
    await captured(t)

    const counts = await Promise.all([compareNow(), compareNow(), compareNow()])

    expect(counts.reduce((sum, run) => sum + (run?.fees ?? 0), 0)).toBe(1)
    expect(await feesPosted()).toHaveLength(1)
  })

  test('that the provider returns reduce what it has charged', async () => {
    const payment = await captured(t)
    const refund = await t.acceptRefund(payment, 500)
    await runOperation(t.engine, refund)
    const { providerRefundId } = await t.readRefund(refund)
    const { data } = await t.provider.stripe.balanceTransactions.list({
      source: providerRefundId ?? '',
    })
    await t.provider.control('POST', `/objects/${data[0]?.id}`, { fee: -14, net: -486 })

    await compareNow()

    expect(await feesPosted()).toContainEqual({
      payment_id: payment.paymentId,
      refund_id: refund.refundId,
      debit: 'provider_receivable',
      credit: 'provider_fees',
      amount_minor: 14,
      currency: 'usd',
    })
  })

  test('are posted in the currency of the balance', async () => {
    const payment = await captured(t)
    const { data } = await t.provider.stripe.balanceTransactions.list()
    const exchanged = { currency: 'eur', amount: 1819, fee: 82, exchange_rate: 0.91 }
    await t.provider.control('POST', `/objects/${data[0]?.id}`, exchanged)

    expect(await compareNow()).toMatchObject({ fees: 1, found: 0 })

    expect(await feesPosted()).toMatchObject([
      { payment_id: payment.paymentId, amount_minor: 82, currency: 'eur' },
    ])
  })

  test('of a movement that differs from the ledger wait for a person', async () => {
    await captured(t)
    const { data } = await t.provider.stripe.balanceTransactions.list()
    await t.provider.control('POST', `/objects/${data[0]?.id}`, { amount: 1998 })

    expect(await compareNow()).toMatchObject({ fees: 0, found: 1 })
    expect(await feesPosted()).toEqual([])
  })
})

describe('fees of the tenant', () => {
  const setFees = (tenantId: string, basisPoints: number) =>
    setTenantFees(t.engine.store.sql, tenantId, { basisPoints, fixedMinor: 0 })

  async function capturedWithFee() {
    const ref = await t.accept()
    await setFees(ref.tenantId, 290)
    await runOperation(t.engine, ref)
    await setFees(ref.tenantId, 0)
    return ref
  }

  test('move nothing at the provider, nor does one refund of a payment count for another', async () => {
    const payment = await capturedWithFee()
    await runOperation(t.engine, await t.acceptRefund(payment, 300))
    await runOperation(t.engine, await t.acceptRefund(payment, 200))

    expect(await compareNow()).toMatchObject({ refunds: 2, movements: 3, found: 0, in_motion: 0 })
  })

  test('are not reported with the capture that never moved', async () => {
    const { paymentId } = await capturedWithFee()
    const { data } = await t.provider.stripe.balanceTransactions.list({ type: 'charge' })
    await t.provider.control('DELETE', `/objects/${data[0]?.id}`)

    expect(await compareNow()).toMatchObject({ movements: 0, found: 1 })
    const findings = await t.engine.store.sql`
      select kind, payment_id from reconciliation_findings
    `
    expect([...findings]).toEqual([{ kind: 'missing_there', payment_id: paymentId }])
  })
})

describe('a partial capture', () => {
  test('agrees with its movements at the provider, and is charged the fee of its part', async () => {
    await runOperation(t.engine, await t.acceptCapture(await held(t), 500))

    const counts = await compareNow()

    expect(counts).toMatchObject({ payments: 1, refunds: 0, movements: 1, found: 0, in_motion: 0 })
    expect(await kindsFound()).toEqual([])
    expect(await feesPosted()).toMatchObject([{ amount_minor: 45 }])
  })

  test('whose rest the provider kept is a finding', async () => {
    await runOperation(t.engine, await t.acceptCapture(await held(t), 500))
    const { data } = await t.provider.stripe.balanceTransactions.list({ type: 'refund' })
    await t.provider.control('DELETE', `/objects/${data[0]?.id}`)

    await compareNow()

    // The provider made the refund, and no record explains it.
    expect((await kindsFound()).toSorted()).toEqual(['ledger_differs', 'missing_here'])
  })
})

describe('a movement that is neither a capture nor a refund', () => {
  const add = async (movement: object) =>
    await t.provider.control<{ id: string }>('POST', '/balance_transactions', {
      currency: 'eur',
      ...movement,
    })

  test('is a finding with its amount, and with the payment that it names', async () => {
    const payment = await captured(t)
    const { providerPaymentId } = await t.readPayment(payment)
    const { latest_charge } = await t.provider.stripe.paymentIntents.retrieve(
      providerPaymentId ?? '',
    )
    const { id } = await add({ type: 'adjustment', amount: -700, fee: 5, source: latest_charge })

    const counts = await compareNow()

    expect(counts).toMatchObject({ movements: 2, account_movements: 0, found: 1, open: 1 })
    const [finding] = await t.engine.store.sql`
      select kind, object_id, tenant_id, payment_id, theirs from reconciliation_findings
    `
    expect(finding).toMatchObject({
      kind: 'unknown_movement',
      object_id: id,
      tenant_id: payment.tenantId,
      payment_id: payment.paymentId,
      theirs: {
        kind: 'other_adjustment',
        type: 'adjustment',
        amount: -700,
        fee: 5,
        currency: 'eur',
        source: latest_charge,
      },
    })
  })

  test('is a finding although another finding is open for its payment', async () => {
    const payment = await captured(t)
    const { providerPaymentId } = await t.readPayment(payment)
    const intent = await t.provider.stripe.paymentIntents.retrieve(providerPaymentId ?? '')
    await t.provider.control('POST', `/objects/${intent.id}`, { amount_received: 1 })
    await add({ type: 'adjustment', amount: -700, source: intent.latest_charge })

    await compareNow()

    expect((await kindsFound()).toSorted()).toEqual(['amount_differs', 'unknown_movement'])
  })

  test('is a finding in an unknown category', async () => {
    await add({ type: 'a_new_type', reporting_category: 'a_new_category', amount: 1 })

    await compareNow()

    expect(await kindsFound()).toEqual(['unknown_movement'])
  })

  test.each(['payout', 'stripe_fee'])('is counted when it is a %s', async (type) => {
    await add({ type, amount: -700 })

    expect(await compareNow()).toMatchObject({ movements: 1, account_movements: 1, found: 0 })
    expect(await kindsFound()).toEqual([])
  })
})

test.each(['adjustment', 'payment_refund'])(
  'a failed refund that the provider booked as %s is followed',
  async (type) => {
    const ref = await t.acceptRefund(await captured(t), 500)
    await runOperation(t.engine, ref)
    const { providerRefundId } = await t.readRefund(ref)
    await t.provider.control('POST', `/refunds/${providerRefundId}/settle`, { status: 'failed' })
    const { data } = await t.provider.stripe.balanceTransactions.list({ type: 'refund_failure' })
    await t.provider.control('POST', `/objects/${data[0]?.id}`, { type })

    const counts = await compareNow()

    expect(counts).toMatchObject({ repaired: 1, found: 0 })
  },
)
