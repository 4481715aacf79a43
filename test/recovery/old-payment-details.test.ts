// Tests what is left of an old payment, with the rights of a worker, and that everything about it that may
// still happen goes on as before.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Sql, Store } from '../../src/db/connection/client.ts'
import { inService } from '../../src/db/connection/transaction.ts'
import { openFindings } from '../../src/db/operations/findings.ts'
import { insertRun } from '../../src/reconciliation/runs.ts'
import { storeRetention } from '../../src/migrations/migrate.ts'
import { deleteOld } from '../../src/recovery/prune.ts'
import { readConfig } from '../../src/config.ts'
import { closedDisputeStatuses, disputeStatuses } from '../../src/domain/payments/dispute.ts'
import { finalStatuses, paymentStatuses } from '../../src/domain/payments/payment.ts'
import { refundStatuses } from '../../src/domain/payments/refund.ts'
import { runOperation } from '../../src/engine/run-phases.ts'
import { carryOutRun } from '../../src/reconciliation/carry-out-run.ts'
import { deliverOf, disputed, move, stateOf } from '../operations/follow-dispute/disputes.ts'
import { applyAll } from '../operations/follow-payment/provider-events.ts'
import { captured } from '../operations/made-payments.ts'
import { startTestEngine, type PaymentRef, type TestEngine } from '../support/engine.ts'
import { expectLedgerBalanced } from '../support/ledger.ts'
import { insertDelivery } from '../support/old-delivery.ts'
import { openServiceStore } from '../support/service-store.ts'

let t: TestEngine
let service: Store
let sql: Sql

beforeAll(async () => {
  t = await startTestEngine()
  ;({ sql } = t.engine.store)
  service = openServiceStore(t.databaseUrl)
  await storeRetention(sql, { ...readConfig({}), PAYMENT_RETENTION_DAYS: 400 })
})
// Payments of earlier tests are not old.
beforeEach(() => sql`update payments set created_at = now(), updated_at = now()`)
afterAll(async () => {
  await expectLedgerBalanced(t.engine.store)
  await service.close()
  await t.stop()
})

const DAY_MS = 24 * 60 * 60 * 1_000
const remove = (limit = 100, days = 400.1) =>
  deleteOld(service.sql, 'payment_details', { before: new Date(Date.now() - days * DAY_MS), limit })

const DETAILS = {
  description: 'a birthday present for Ada',
  metadata: { email: 'ada@shop.example' },
}

/** A captured payment with details and a refund of a part. */
async function refunded() {
  const ref = await t.accept(DETAILS)
  await runOperation(t.engine, ref)
  const refund = await t.acceptRefund(ref, 500)
  await runOperation(t.engine, refund)
  await sql`update refunds set metadata = ${JSON.stringify(DETAILS.metadata)}::jsonb where id = ${refund.refundId}`
  return { tenantId: ref.tenantId, paymentId: ref.paymentId, refundId: refund.refundId }
}

/** Makes a payment, its refunds and its disputes look that old. */
async function age({ paymentId }: Pick<PaymentRef, 'paymentId'>, days = 401) {
  const ago = sql`now() - ${days} * interval '1 day'`
  await sql`update payments set created_at = ${ago}, updated_at = ${ago} where id = ${paymentId}`
  await sql`update refunds set updated_at = ${ago} where payment_id = ${paymentId}`
  await sql`update disputes set updated_at = ${ago} where payment_id = ${paymentId}`
}

const delivery = (ref: PaymentRef, status: string) => insertDelivery(sql, ref, { status })

const rowsOf = async (table: string, { paymentId }: Pick<PaymentRef, 'paymentId'>) => [
  ...(await sql`select * from ${sql(table)} where payment_id = ${paymentId} order by id`),
]

async function countIn(table: string): Promise<number> {
  return (await sql`select from ${sql(table)}`).count
}

describe('of an old payment', () => {
  test('stays what the ledger needs, and nothing personal', async () => {
    const ref = await refunded()
    await delivery(ref, 'succeeded')
    await age(ref)
    const [payment, refund] = [await t.readPayment(ref), await t.readRefund(ref)]
    const postings = await rowsOf('ledger_postings', ref)

    expect(await remove()).toBe(1)

    const erased = { paymentMethod: 'erased', customer: null, description: null, metadata: {} }
    expect(await t.readPayment(ref)).toEqual({ ...payment, ...erased, clientSecret: null })
    expect(await t.readRefund(ref)).toEqual({ ...refund, metadata: {} })
    expect(await rowsOf('ledger_postings', ref)).toEqual(postings)
    for (const table of ['events', 'phase_runs']) expect(await rowsOf(table, ref)).toEqual([])
    expect(await countIn('webhook_deliveries')).toBe(0)
    expect(await countIn('webhook_attempts')).toBe(0)
    expect(await remove()).toBe(0)
    expect(await t.readPayment(ref)).toMatchObject(erased)
  })

  test('the records of other payments stay', async () => {
    const [ref, other] = [await captured(t), await refunded()]
    await delivery(other, 'failed')
    await age(ref)
    const before = await Promise.all([rowsOf('events', other), rowsOf('phase_runs', other)])

    expect(await remove()).toBe(1)

    expect(await Promise.all([rowsOf('events', other), rowsOf('phase_runs', other)])).toEqual(
      before,
    )
    expect(await t.readPayment(other)).toMatchObject(DETAILS)
    expect(await countIn('webhook_attempts')).toBe(1)
    expect(await countIn('webhook_deliveries')).toBe(1)
  })

  test('batches are bounded, and several workers delete the details once', async () => {
    for (let made = 0; made < 5; made += 1) await age(await captured(t), 410 - made)

    expect(await remove(2)).toBe(2)
    const counts = await Promise.all([remove(), remove(), remove()])
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(3)
  })
})

describe('keeps the details', () => {
  const keeps = async (ref: PaymentRef) => {
    const before = await Promise.all([t.readPayment(ref), rowsOf('events', ref)])
    expect(await remove()).toBe(0)
    expect(await Promise.all([t.readPayment(ref), rowsOf('events', ref)])).toEqual(before)
  }

  const disputedPayment = async () => {
    const { payment } = await disputedHere()
    await sql`update disputes set status = 'lost' where payment_id = ${payment.paymentId}`
    return payment
  }
  const renew = (table: string, column: string) => (ref: PaymentRef) =>
    sql`
    update ${sql(table)} set ${sql(column)} = now()
    where ${sql(table === 'payments' ? 'id' : 'payment_id')} = ${ref.paymentId}
  `

  test.each<[string, () => Promise<PaymentRef>, (ref: PaymentRef) => Promise<unknown>]>([
    ['of a payment that is younger', refunded, (ref) => age(ref, 400)],
    ['while its created_at is younger', () => captured(t), renew('payments', 'created_at')],
    ['while its updated_at is younger', () => captured(t), renew('payments', 'updated_at')],
    ['while a refund is younger', refunded, renew('refunds', 'updated_at')],
    ['while a closed dispute is younger', disputedPayment, renew('disputes', 'updated_at')],
    ['while an event waits for its delivery', () => captured(t), (ref) => delivery(ref, 'pending')],
  ])('%s', async (_, make, change) => {
    const ref = await make()
    await age(ref)
    await change(ref)
    await keeps(ref)
  })

  test.each(paymentStatuses.filter((status) => !finalStatuses.includes(status)))(
    'of a payment that is %s',
    async (status) => {
      const ref = await captured(t)
      await age(ref)
      const [previous, failure] = [status === 'processing' ? 'failed' : 'processing', null]
      await sql`
        update payments set previous_status = ${previous}, status = ${status},
          failure_code = ${failure}
        where id = ${ref.paymentId}
      `
      await keeps(ref)
    },
  )

  test.each(refundStatuses)(
    'of a payment with a refund that is %s: not if final',
    async (status) => {
      const ref = await refunded()
      const previous = status === 'processing' ? 'failed' : 'processing'
      await age(ref)
      await sql`
      update refunds set previous_status = ${previous}, status = ${status},
        failure_code = case when ${status} = 'declined' then 'declined' end
      where payment_id = ${ref.paymentId}
    `
      const isFinal = ['succeeded', 'failed', 'declined', 'canceled'].includes(status)
      if (isFinal) expect(await remove()).toBe(1)
      else await keeps(ref)
    },
  )

  test.each(disputeStatuses)(
    'of a payment with a dispute that is %s: not if closed',
    async (status) => {
      const { payment } = await disputedHere()
      await age(payment)
      await sql`update disputes set status = ${status} where payment_id = ${payment.paymentId}`
      if (closedDisputeStatuses.includes(status)) expect(await remove()).toBe(1)
      else await keeps(payment)
    },
  )

  test.each(['pending', 'processing', 'unknown', 'failed_retryable'])(
    'while an operation on the payment is %s',
    async (status) => {
      const ref = await captured(t)
      await age(ref)
      await sql`
        update idempotency_keys set status = ${status}, recovery_point = 'started',
          finished_at = null, response_status = null, response_headers = null, response_body = null,
          lease_expires_at = case when ${status} = 'processing' then now() end,
          in_doubt = ${status === 'unknown'},
          unknown_at = case when ${status} = 'unknown' then now() end
        where payment_id = ${ref.paymentId}
      `
      await keeps(ref)
      await sql`delete from idempotency_keys where payment_id = ${ref.paymentId}`
    },
  )

  test('while a finding about the payment is open', async () => {
    const ref = await captured(t)
    await age(ref)
    await openFindings(sql, [
      {
        provider: 'stripe',
        kind: 'operation_abandoned',
        objectId: ref.paymentId,
        runId: null,
        subject: { ...ref, refundId: null, operationId: null },
        ours: {},
        theirs: null,
      },
    ])
    await keeps(ref)
    await sql`update reconciliation_findings set status = 'resolved', resolved_at = now(), resolved_by = 'ann'`
    expect(await remove()).toBe(1)
  })

  test.each([
    ['for ever', 0],
    ['for 500 days', 500],
  ])('of all payments while the owner keeps them %s', async (_, days) => {
    const ref = await captured(t)
    await age(ref)
    await storeRetention(sql, { ...readConfig({}), PAYMENT_RETENTION_DAYS: days })
    await keeps(ref)
    await storeRetention(sql, { ...readConfig({}), PAYMENT_RETENTION_DAYS: 400 })
  })

  test('of all payments of the last 400 days, whatever the service asks for', async () => {
    const ref = await captured(t)
    await age(ref, 399)
    await storeRetention(sql, { ...readConfig({}), PAYMENT_RETENTION_DAYS: 1 })
    expect(await remove(100, 398)).toBe(0)
    const count = await inService(service.sql, async (tx) => {
      return await tx`select delete_old_payment_details('infinity', 100)::int as count`
    })
    expect([...count]).toEqual([{ count: 0 }])
    await storeRetention(sql, { ...readConfig({}), PAYMENT_RETENTION_DAYS: 400 })
  })
})

/** A captured payment with a dispute that is recorded here too. */
async function disputedHere() {
  const dispute = await disputed(t)
  await applyAll(t, [await deliverOf(t, dispute, 'charge.dispute.created')])
  return dispute
}

describe('afterwards', () => {
  test('a dispute moves money as before, and its events contain no personal data', async () => {
    const dispute = await disputed(t)
    const { payment } = dispute
    await sql`update payments set metadata = ${JSON.stringify(DETAILS.metadata)}::jsonb where id = ${payment.paymentId}`
    await age(payment)
    expect(await remove()).toBe(1)

    await applyAll(t, [await deliverOf(t, dispute, 'charge.dispute.created')])
    await move(t, dispute, { status: 'won' })
    await applyAll(t, [await deliverOf(t, dispute, 'charge.dispute.closed')])

    const { disputes, ledger } = await stateOf(t, payment)
    expect(disputes).toEqual(['won'])
    expect(ledger.some((posting) => posting.startsWith('dispute_reversal'))).toBe(true)
    expect(JSON.stringify(await rowsOf('events', payment))).not.toContain(DETAILS.metadata.email)
  })

  test('a refund of the rest is made', async () => {
    const ref = await refunded()
    await age(ref)
    expect(await remove()).toBe(1)

    const rest = await t.acceptRefund(ref)
    expect(await runOperation(t.engine, rest)).toBe('finished')

    expect(await t.readRefund(rest)).toMatchObject({ status: 'succeeded' })
    const { amountCapturedMinor, amountRefundedMinor } = await t.readPayment(ref)
    expect(amountRefundedMinor).toBe(amountCapturedMinor)
  })

  test('the reconciliation of its day finds no difference', async () => {
    await sql`update idempotency_keys set created_at = now()`
    const ref = await refunded()
    await age(ref)
    expect(await remove()).toBe(1)
    await sql`delete from reconciliation_findings`

    const from = new Date(Date.now() - DAY_MS / 2)
    const window = { from, to: new Date(from.getTime() + DAY_MS) }
    const run = await insertRun(sql, { provider: 'stripe', ...window, requestedBy: 'test' })
    await carryOutRun(t.engine, run.id)

    const about = await sql`
      select kind from reconciliation_findings where payment_id = ${ref.paymentId}
    `
    expect([...about]).toEqual([])
  })
})

test('reads only the old of 50,000 payments with details', async () => {
  const ref = await captured(t)
  await sql`
    insert into payments (
      tenant_id, id, amount_minor, amount_captured_minor, currency, status, previous_status,
      capture_method, payment_method, metadata, provider, provider_payment_id, created_at, updated_at
    )
    select
      tenant_id, gen_random_uuid(), amount_minor, amount_captured_minor, currency, status,
      previous_status, capture_method, case when n % 2 = 0 then 'erased' else payment_method end,
      metadata, provider, 'pi_plan_' || n, now() - (50000 - n) * interval '12 minutes',
      now() - (50000 - n) * interval '12 minutes'
    from payments, generate_series(1, 50000) as n
    where id = ${ref.paymentId}
  `
  await sql`analyze payments`
  const read = await inService(sql, async (tx) => {
    await tx`select delete_old_payment_details(now() - interval '400 days', 250)`
    const [row] = await tx<{ scanned: number; fetched: number }[]>`
      select seq_tup_read::int as scanned, idx_tup_fetch::int as fetched
      from pg_stat_xact_user_tables where relname = 'payments'
    `
    return row
  })
  expect(read?.scanned).toBe(0)
  expect(read?.fetched).toBeLessThan(5_000)
})
