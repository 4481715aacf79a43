// Tests that phases recorded by one statement have an outcome each: recorded, lost, stale, refused.
import { randomUUIDv7 } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Store } from '../../../src/db/connection/client.ts'
import { findIdempotencyKey } from '../../../src/db/idempotency/idempotency-keys.ts'
import { reserveIntent } from '../../../src/db/idempotency/intents.ts'
import {
  batchRecords,
  recordEach,
  type PhaseToRecord,
  type Writes,
} from '../../../src/db/operations/record-phases.ts'
import type { Claim } from '../../../src/db/operations/leases.ts'
import { createCounts } from '../../../src/domain/tenants/tenant-counts.ts'
import { findPayment, StaleResourceError } from '../../../src/db/payments/payments.ts'
import { findRefund, insertRefunds } from '../../../src/db/payments/refunds.ts'
import { entryOfCapture, entryOfRefund } from '../../../src/domain/ledger/ledger.ts'
import { paymentAfter } from '../../../src/domain/payments/payment.ts'
import { refundAfter, type Refund } from '../../../src/domain/payments/refund.ts'
import { openServiceStore } from '../../support/service-store.ts'
import {
  claimOrThrow,
  LEASE_MS,
  letLeaseRunOut,
  makeTenant,
  reservationOf,
  reserve,
  response,
  RETENTION_SECONDS,
} from '../reservations.ts'
import { watchBatches, type WatchedBatches } from '../watch-batches.ts'
import { database, store as owner } from '../../support/own-store.ts'

const FEES = { basisPoints: 290, fixedMinor: 30 }

/** With the role of the service, so that row-level security applies. */
let store: Store
let tenantId: string
let batches: WatchedBatches

beforeAll(async () => {
  store = openServiceStore(database.url)
})
beforeEach(async () => {
  tenantId = await makeTenant(owner)
  batches = watchBatches(store.sql)
})
afterAll(() => store.close())

const claimedPayment = async (of = tenantId): Promise<Claim> => {
  const reservation = reservationOf(of)
  await reserve(owner.sql, reservation)
  return await claimOrThrow(owner.sql, reservation)
}

const claimedPayments = (count: number): Promise<Claim[]> =>
  Promise.all(Array.from({ length: count }, () => claimedPayment()))

/** A claimed refund of this payment, which was captured. */
async function claimedRefund({ paymentId }: Claim, amountMinor: number) {
  const reservation = reservationOf(tenantId, {
    operation: 'refund.create',
    paymentId,
    refundId: randomUUIDv7(),
    details: { amountMinor, reason: null, reference: null, metadata: {} },
  })
  await reserveIntent(owner.sql, reservation, insertRefunds)
  const claim = await claimOrThrow(owner.sql, reservation)
  return claim as Claim & { refund: Refund }
}

async function captured(): Promise<Claim> {
  const claim = await claimedPayment()
  await recordEach(owner.sql, [captureOf(claim)])
  return claim
}

function phaseOf(claim: Claim, move: PhaseToRecord['move'], writes: Writes): PhaseToRecord {
  const reached = move.kind === 'finish' ? 'finished' : move.to
  const run = { phase: 'started', reached, outcome: undefined, startedAt: new Date() }
  return { claim, move, record: { tries: [run], writes } }
}

const FINISH = { kind: 'finish', response, retentionSeconds: RETENTION_SECONDS } as const

/** A phase that captures an amount, which tells it from the others. */
function captureOf(claim: Claim, amountCapturedMinor = 1999): PhaseToRecord {
  const providerPaymentId = `pi_${claim.id}`
  const change = { status: 'succeeded', amountCapturedMinor, providerPaymentId } as const
  const payment = paymentAfter(claim.payment, change)
  const body = JSON.stringify({ amountCapturedMinor })
  const move = { ...FINISH, response: { ...response, body } }
  return phaseOf(claim, move, { payment, ledger: [entryOfCapture(payment, FEES)] })
}

const refundOf = (claim: Claim & { refund: Refund }): PhaseToRecord => {
  const refund = refundAfter(claim.refund, { status: 'succeeded', providerRefundId: claim.id })
  return phaseOf(claim, FINISH, { refund, ledger: [entryOfRefund(refund)] })
}

const recordTogether = async (phases: readonly PhaseToRecord[]) => {
  const [record, sql] = [batchRecords(), batches.sql]
  return await Promise.allSettled(phases.map((phase) => record(sql, phase)))
}

const recorded = (value: boolean) => ({ status: 'fulfilled', value })

/** What was written for an operation. */
async function writtenFor({ id, paymentId }: Claim) {
  const { sql } = owner
  const [key] = await sql`
    select status, recovery_point from idempotency_keys where id = ${id}
  `
  const [counts] = await sql`
    select
      (select count(*)::int from phase_runs where operation_id = ${id} and phase is not null) as runs,
      (select count(*)::int from events
        where payment_id = ${paymentId} and type = 'payment.succeeded') as events
  `
  return { ...key, ...counts }
}

const UNTOUCHED = { status: 'processing', recovery_point: 'started', runs: 0, events: 0 }

describe('phases that end together', () => {
  test('share a statement, and each gets its own writes', async () => {
    const claims = await claimedPayments(5)

    const outcomes = await recordTogether(claims.map((claim, at) => captureOf(claim, 100 + at)))

    expect(batches.sizes).toEqual([5])
    expect(outcomes).toEqual(claims.map(() => recorded(true)))
    for (const [at, claim] of claims.entries()) {
      expect(await findPayment(owner.sql, tenantId, claim.paymentId)).toMatchObject({
        status: 'succeeded',
        amountCapturedMinor: 100 + at,
        providerPaymentId: `pi_${claim.id}`,
      })
      const written = await writtenFor(claim)
      expect(written).toMatchObject({ status: 'completed', runs: 1, events: 1 })
      const key = await findIdempotencyKey(owner.sql, tenantId, claim.key)
      expect(key?.response?.body).toBe(JSON.stringify({ amountCapturedMinor: 100 + at }))
      expect(await capturedAmounts(claim)).toEqual([100 + at])
    }
  })

  test.each([
    { title: 'wait for running operations of their tenant', isOwn: true, sizes: [2] },
    { title: 'do not wait for those of another tenant', isOwn: false, sizes: [1, 1] },
  ])('$title', async ({ isOwn, sizes }) => {
    const claims = await claimedPayments(2)
    const running = createCounts()
    for (let count = 0; count < 4; count += 1) running.add(isOwn ? tenantId : randomUUIDv7(), 1)
    const record = batchRecords(running)

    const recordedPhases = []
    for (const claim of claims) {
      recordedPhases.push(record(batches.sql, captureOf(claim)))
      await setImmediate()
    }

    expect(await Promise.all(recordedPhases)).toEqual([true, true])
    expect(batches.sizes).toEqual(sizes)
  })

  test('show the keys of their own requests in their events', async () => {
    const claims = await claimedPayments(3)

    await recordTogether(claims.map((claim) => captureOf(claim)))

    for (const { key, paymentId } of claims) {
      const events = await owner.sql`
        select idempotency_key from events
        where payment_id = ${paymentId} and type = 'payment.succeeded'
      `
      expect([...events]).toEqual([{ idempotency_key: key }])
    }
  })

  test('advance to different recovery points', async () => {
    const claims = await claimedPayments(2)
    const moves = ['authorized', 'captured'].map((to) => ({
      kind: 'advance',
      to,
      leaseMs: LEASE_MS,
    }))

    await recordTogether(
      claims.map((claim, at) => phaseOf(claim, moves[at] as PhaseToRecord['move'], {})),
    )

    expect(batches.sizes).toEqual([2])
    const [one, other] = (await Promise.all(claims.map(writtenFor))) as [object, object]
    expect(one).toMatchObject({ recovery_point: 'authorized', runs: 1 })
    expect(other).toMatchObject({ recovery_point: 'captured', runs: 1 })
  })

  test('refund different payments, each by its own amount', async () => {
    const payments = [await captured(), await captured()]
    const claims = await Promise.all(
      payments.map((payment, at) => claimedRefund(payment, 500 + at)),
    )

    await recordTogether(claims.map(refundOf))

    expect(batches.sizes).toEqual([2])
    for (const [at, { paymentId, refund }] of claims.entries()) {
      expect(await findRefund(owner.sql, tenantId, refund.id)).toMatchObject({
        status: 'succeeded',
      })
      expect(await findPayment(owner.sql, tenantId, paymentId)).toMatchObject({
        amountRefundedMinor: 500 + at,
        amountRefundingMinor: 0,
      })
    }
  })

  test('of two tenants do not share a statement', async () => {
    const claims = [await claimedPayment(), await claimedPayment(await makeTenant(owner))]

    const outcomes = await recordTogether(claims.map((claim) => captureOf(claim)))

    expect(batches.sizes).toEqual([1, 1])
    expect(outcomes).toEqual([recorded(true), recorded(true)])
  })
})

describe('neighbours in a statement are recorded beside', () => {
  test('one that lost its lease, for which nothing is written', async () => {
    const claims = await claimedPayments(3)
    const [, lost] = claims as [Claim, Claim]
    await letLeaseRunOut(owner.sql, lost)
    await claimOrThrow(owner.sql, lost)

    const outcomes = await recordTogether(claims.map((claim) => captureOf(claim)))

    expect(batches.sizes).toEqual([3])
    expect(outcomes).toEqual([recorded(true), recorded(false), recorded(true)])
    expect(await writtenFor(lost)).toMatchObject(UNTOUCHED)
  })

  test('one at another recovery point than its worker believes', async () => {
    const claims = await claimedPayments(2)
    const [ahead] = claims as [Claim]
    await owner.sql`
      update idempotency_keys set recovery_point = 'authorized' where id = ${ahead.id}
    `

    const outcomes = await recordTogether(claims.map((claim) => captureOf(claim)))

    expect(outcomes).toEqual([recorded(false), recorded(true)])
    expect(await writtenFor(ahead)).toMatchObject({ ...UNTOUCHED, recovery_point: 'authorized' })
  })

  test('one whose payment has left its status', async () => {
    const claims = await claimedPayments(3)
    const [, stale] = claims as [Claim, Claim]
    await owner.sql`
      update payments set status = 'unknown', previous_status = 'processing'
      where id = ${stale.paymentId}
    `

    const outcomes = await recordTogether(claims.map((claim) => captureOf(claim)))

    expect(batches.sizes).toEqual([3, 1, 1, 1])
    expect(outcomes).toEqual([
      recorded(true),
      { status: 'rejected', reason: expect.any(StaleResourceError) },
      recorded(true),
    ])
    expect(await writtenFor(stale)).toMatchObject(UNTOUCHED)
  })

  test('one whose content the database refuses', async () => {
    const claims = await claimedPayments(3)
    const phases = claims.map((claim) => captureOf(claim))
    const [, refused] = claims as [Claim, Claim]
    // More than the payment's amount, which a CHECK refuses.
    phases[1] = captureOf(refused, 5_000)

    const outcomes = await recordTogether(phases)

    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(await writtenFor(refused)).toMatchObject(UNTOUCHED)
  })
})

test('two refunds of one payment do not share a statement, and both count', async () => {
  const payment = await captured()
  const claims = [await claimedRefund(payment, 500), await claimedRefund(payment, 700)]

  const outcomes = await recordTogether(claims.map(refundOf))

  expect(batches.sizes).toEqual([1, 1])
  expect(outcomes).toEqual([recorded(true), recorded(true)])
  expect(await findPayment(owner.sql, tenantId, payment.paymentId)).toMatchObject({
    amountRefundedMinor: 1_200,
    amountRefundingMinor: 0,
  })
})

test('a statement whose acknowledgment was lost writes once, and its repetition finds its own fence', async () => {
  const claims = await claimedPayments(3)
  batches.loseAcknowledgment()

  const outcomes = await recordTogether(claims.map((claim) => captureOf(claim)))

  expect(batches.sizes).toEqual([3, 1, 1, 1])
  // The engine reads the row again, and sees that its own statement was committed.
  expect(outcomes).toEqual(claims.map(() => recorded(false)))
  for (const claim of claims) {
    expect(await writtenFor(claim)).toMatchObject({ status: 'completed', runs: 1, events: 1 })
    expect(await capturedAmounts(claim)).toEqual([1999])
  }
})

/** The amounts of the ledger transactions that capture money for an operation. */
async function capturedAmounts({ id }: Claim): Promise<number[]> {
  const rows = await owner.sql`
    select sum(amount_minor)::int as amount from ledger_postings
    where operation_id = ${id} and debit = 'provider_receivable' group by transaction_id
  `
  return rows.map(({ amount }) => amount as number)
}
