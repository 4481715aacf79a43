// Tests the records of phases on a real database: one statement writes all of a phase or nothing,
// and the resource as the domain computed it.
import { randomUUIDv7 } from 'node:crypto'
import { describe, expect, test } from '@jest/globals'
import { reserveIntent } from '../../../src/db/idempotency/intents.ts'
import type { Claim } from '../../../src/db/operations/leases.ts'
import { findPayment, StaleResourceError } from '../../../src/db/payments/payments.ts'
import type { Writes } from '../../../src/db/operations/record-phases.ts'
import { withChange } from '../../../src/engine/record-phase.ts'
import { findRefund, insertRefunds } from '../../../src/db/payments/refunds.ts'
import { entryOfCapture, entryOfRefund } from '../../../src/domain/ledger/ledger.ts'
import {
  paymentAfter,
  type Payment,
  type PaymentChange,
} from '../../../src/domain/payments/payment.ts'
import { reminderOf } from '../../../src/domain/events/provider-event.ts'
import { refundAfter, type Refund, type RefundChange } from '../../../src/domain/payments/refund.ts'
import { isOnCitus } from '../../support/citus.ts'
import { advanceIfOwner, finishIfOwner } from '../../support/record-phase.ts'
import {
  claimedOperation,
  claimOrThrow,
  LEASE_MS,
  reservationOf,
  response,
  RETENTION_SECONDS,
} from '../reservations.ts'
import { store } from '../../support/own-store.ts'

const FEES = { basisPoints: 290, fixedMinor: 30 }

const FAILURE = { code: 'card_declined', declineCode: 'lost_card', message: 'It was declined.' }

const to = (reached: string) => ({
  phase: 'started',
  reached,
  outcome: undefined,
  startedAt: new Date(),
})

const advance = (claim: Claim, writes: Writes) =>
  advanceIfOwner(store.sql, claim, 'authorized', LEASE_MS, { tries: [to('authorized')], writes })

const finish = (claim: Claim, writes: Writes) =>
  finishIfOwner(store.sql, claim, response, RETENTION_SECONDS, { tries: [to('finished')], writes })

/** All that a phase of a payment can write. */
function everythingOf({ payment }: Claim): Writes {
  const waiting = paymentAfter(payment, { status: 'requires_action', providerPaymentId: idOf() })
  const ledger = [entryOfCapture({ ...waiting, amountCapturedMinor: 1999 }, FEES)]
  return { payment: waiting, ledger, reminder: reminderOf(waiting, waiting.createdAt) }
}

const idOf = () => `pi_${randomUUIDv7()}`

/** All rows of a tenant that recording a phase can change, and the number of jobs. */
async function rowsOf({ tenantId }: Claim): Promise<Record<string, unknown[]>> {
  const { sql } = store
  const tables = [
    'idempotency_keys',
    'payments',
    'refunds',
    'events',
    'phase_runs',
    'ledger_postings',
    'provider_events',
  ]
  const rows = tables.map(async (table) => {
    const found = await sql`
      select to_jsonb(one) as row from ${sql(table)} as one
      where tenant_id = ${tenantId} order by one.id
    `
    return [table, found.map(({ row }) => row as unknown)] as const
  })
  const jobs = await sql`select id::text from atomic_jobs.job order by id`
  return { ...Object.fromEntries(await Promise.all(rows)), jobs: [...jobs] }
}

/** A claimed refund of a succeeded payment. */
async function claimedRefund(): Promise<Claim & { refund: Refund }> {
  const { sql } = store
  const paid = await claimedOperation(store)
  const change = { providerPaymentId: idOf(), amountCapturedMinor: 1999 }
  await finish(paid, { payment: paymentAfter(paid.payment, { status: 'succeeded', ...change }) })
  const reservation = reservationOf(paid.tenantId, {
    operation: 'refund.create',
    paymentId: paid.paymentId,
    refundId: randomUUIDv7(),
    details: { amountMinor: 500, reason: null, reference: null, metadata: {} },
  })
  await reserveIntent(sql, reservation, insertRefunds)
  const claim = await claimOrThrow(sql, reservation)
  if (claim.refund === null) throw new Error('there is no refund')
  return { ...claim, refund: claim.refund }
}

describe('the owner of the lease', () => {
  const changes: [string, PaymentChange][] = [
    ['held money', { status: 'processing', providerPaymentId: 'pi_1', clientSecret: 's_1' }],
    ['a required action', { status: 'requires_action', providerPaymentId: 'pi_2' }],
    ['captured money', { status: 'processing', amountCapturedMinor: 1999 }],
    ['a decline', { status: 'declined', failure: FAILURE, providerPaymentId: null }],
  ]

  test.each(changes)('writes a payment with %s as paymentAfter computed it', async (_, change) => {
    const claim = await claimedOperation(store)
    const changed = paymentAfter(claim.payment, change)

    expect(await advance(claim, { payment: changed })).toBe(true)

    const { tenantId, paymentId } = claim
    expect(await findPayment(store.sql, tenantId, paymentId)).toEqual(changed)
  })

  test('keeps the earlier fields of a payment, except its failure', async () => {
    const claim = await claimedOperation(store)
    const change = { providerPaymentId: idOf(), clientSecret: 's', amountCapturedMinor: 5 }
    const first = paymentAfter(claim.payment, { status: 'failed', failure: FAILURE, ...change })
    await advance(claim, { payment: first })

    const second = paymentAfter(first, { status: 'processing' })
    await finish({ ...claim, recoveryPoint: 'authorized' }, { payment: second })

    const found = await findPayment(store.sql, claim.tenantId, claim.paymentId)
    expect(found).toEqual(second)
    expect(found).toMatchObject({ ...change, failure: null, previousStatus: 'failed' })
  })

  const refundChanges: [string, RefundChange, Partial<Payment>][] = [
    [
      'given',
      { status: 'succeeded', providerRefundId: 're_1', moved: true },
      { amountRefundedMinor: 500, amountRefundingMinor: 0 },
    ],
    [
      'declined',
      { status: 'declined', failure: FAILURE },
      { amountRefundedMinor: 0, amountRefundingMinor: 0 },
    ],
  ]

  test.each(refundChanges)(
    'writes a refund that is %s as refundAfter computed it',
    async (_, change, amounts) => {
      const claim = await claimedRefund()
      const { previousStatus, ...changed } = refundAfter(claim.refund, change)
      const ledger = change.status === 'succeeded' ? { ledger: [entryOfRefund(claim.refund)] } : {}

      const refund = { ...changed, previousStatus }
      expect(await finish(claim, { refund, ...ledger })).toBe(true)

      const { sql } = store
      expect(await findRefund(sql, claim.tenantId, claim.refund.id)).toEqual(changed)
      expect(await findPayment(sql, claim.tenantId, claim.paymentId)).toMatchObject(amounts)
    },
  )
})

describe('nothing is written', () => {
  test('for a payment that leaves its status while the statement waits for it', async () => {
    const claim = await claimedOperation(store)
    const waiting = await store.sql.begin(async (tx) => {
      await tx`
        update payments set status = 'unknown', previous_status = 'processing'
        where id = ${claim.paymentId}
      `
      const written = advance(claim, everythingOf(claim)).catch((thrown: unknown) => thrown)
      await untilBlocked()
      return { written }
    })

    expect(await waiting.written).toBeInstanceOf(StaleResourceError)

    expect(await rowsOf(claim)).toMatchObject({
      idempotency_keys: [{ recovery_point: 'started', status: 'processing' }],
      payments: [{ status: 'unknown' }],
      ledger_postings: [],
      provider_events: [],
    })
  })

  test('by a statement that waits for the operation while its lease is lost', async () => {
    const claim = await claimedOperation(store)
    const { idempotency_keys: _, ...before } = await rowsOf(claim)
    const waiting = await store.sql.begin(async (tx) => {
      await tx`update idempotency_keys set lease_epoch = lease_epoch + 1 where id = ${claim.id}`
      const written = advance(claim, everythingOf(claim))
      await untilBlocked()
      return { written }
    })

    expect(await waiting.written).toBe(false)

    expect(await rowsOf(claim)).toMatchObject(before)
  })

  test('for a refund that has left its status, nor for its payment', async () => {
    const claim = await claimedRefund()
    await store.sql`
      update refunds set status = 'unknown', previous_status = 'processing'
      where id = ${claim.refund.id}
    `
    const before = await rowsOf(claim)
    const refund = refundAfter(claim.refund, { status: 'succeeded', providerRefundId: 're_2' })

    const written = finish(claim, { refund, ledger: [entryOfRefund(refund)] })

    await expect(written).rejects.toThrow(StaleResourceError)
    expect(await rowsOf(claim)).toEqual(before)
  })

  /** Waits until a statement of this database waits for a row. */
  async function untilBlocked(): Promise<void> {
    for (;;) {
      const { count } = isOnCitus()
        ? await store.sql`select from citus_lock_waits`
        : await store.sql`
            select from pg_stat_activity
            where datname = current_database() and cardinality(pg_blocking_pids(pid)) > 0
          `
      if (count > 0) return
    }
  }
})

describe('the writes of two phases in one statement', () => {
  test('change the resource once, from its status before the first to that after the second', async () => {
    const { payment, fees } = await claimedOperation(store)
    const authorized = paymentAfter(payment, { status: 'processing', providerPaymentId: 'pi_1' })
    const captured = paymentAfter(authorized, { status: 'unknown', amountCapturedMinor: 1999 })
    const ended = paymentAfter(captured, { status: 'succeeded' })
    const ledger = [entryOfCapture(captured, fees)]

    const writes = withChange({ payment: captured, ledger }, { payment: ended })

    expect(writes).toEqual({ payment: { ...ended, previousStatus: 'processing' }, ledger })
  })

  test('are those of the first, when the second changes nothing', async () => {
    const { payment } = await claimedOperation(store)
    const first = everythingOf({ payment } as Claim)

    expect(withChange(first, {})).toBe(first)
  })

  test('are those of the second, when the first changes nothing', async () => {
    const { payment } = await claimedOperation(store)
    const ended = paymentAfter(payment, { status: 'succeeded' })

    expect(withChange({}, { payment: ended })).toEqual({ payment: ended })
  })

  test('change a refund in the same way', () => {
    const refund = { id: 're', status: 'processing' } as Refund
    const first = refundAfter(refund, { status: 'unknown' })
    const second = refundAfter(first, { status: 'succeeded' })

    expect(withChange({ refund: first }, { refund: second })).toEqual({
      refund: { ...second, previousStatus: 'processing' },
    })
  })
})
