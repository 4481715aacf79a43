// What the engine promises holds for each operation that a client asks for on a payment that exists, from
// each of its recovery points. A new operation is a row of the table here.
import type { CallName } from '../../src/provider/payment-provider.ts'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { showPaymentId } from '../../src/domain/payments/payment.ts'
import { operations } from '../../src/operations/index.ts'
import { LeaseLostError } from '../../src/engine/lease.ts'
import { reopenOperation } from '../../src/engine/reopen-operation.ts'
import { runOperation } from '../../src/engine/run-phases.ts'
import type { OperationRef } from '../../src/domain/operations/operation.ts'
import {
  aroundCall,
  aroundCommit,
  connectionLost,
  withoutRetries,
} from '../support/engine-doubles.ts'
import {
  startTestEngine,
  type Accepted,
  type PaymentRef,
  type TestEngine,
} from '../support/engine.ts'
import { expectLedgerBalanced } from '../support/ledger.ts'
import { postingsOf } from '../support/records.ts'
import { captured, held, snapshot } from './made-payments.ts'

let t: TestEngine

beforeAll(async () => {
  t = await startTestEngine()
})

afterEach(() => t.provider.control('POST', '/reset'))

afterEach(() => expectLedgerBalanced(t.engine.store))

afterAll(() => t.stop())

interface Row {
  readonly name: string
  readonly call: CallName
  /** As the provider's log calls it, and where it is asked for it. */
  readonly kind: string
  readonly path: string
  readonly ready: () => Promise<PaymentRef>
  readonly accept: (payment: PaymentRef) => Promise<Accepted & { refundId?: string }>
  /** What a success answers, and leaves. */
  readonly responseStatus: number
  readonly payment: object
  readonly postings: number
}

const table: Row[] = [
  {
    name: 'payment.capture',
    call: 'capture',
    kind: 'payment_intent.capture',
    path: '/v1/payment_intents/*/capture',
    ready: () => held(t),
    accept: (payment) => t.acceptCapture(payment, 500),
    responseStatus: 200,
    payment: { status: 'succeeded', amountCapturedMinor: 500 },
    postings: 1,
  },
  {
    name: 'payment.cancel',
    call: 'cancel',
    kind: 'payment_intent.cancel',
    path: '/v1/payment_intents/*/cancel',
    ready: () => held(t),
    accept: (payment) => t.acceptCancel(payment),
    responseStatus: 200,
    payment: { status: 'canceled', amountCapturedMinor: 0 },
    postings: 0,
  },
  {
    name: 'refund.create',
    call: 'refund',
    kind: 'refund.create',
    path: '/v1/refunds',
    ready: () => captured(t),
    accept: (payment) => t.acceptRefund(payment, 500),
    responseStatus: 201,
    payment: { status: 'succeeded', amountRefundedMinor: 500, amountRefundingMinor: 0 },
    postings: 2,
  },
]

/** Those with tests of their own: one makes the payment, one is asked for by the provider. */
const elsewhere = ['payment.create', 'payment.follow']

test('every operation has its row, or tests of its own', () => {
  const others = operations.map(({ name }) => name).filter((name) => !elsewhere.includes(name))

  expect(table.map(({ name }) => name)).toEqual(others)
})

const run = (ref: OperationRef, engine = t.engine) => runOperation(engine, ref)

const executedOf = async (kind: string) =>
  (await t.provider.executed()).filter((entry) => entry.kind === kind)

const accepted = async ({ accept, ready }: Row) => accept(await ready())

/** The operation is done: answered, recorded and posted, and executed once. */
async function expectDone(row: Row, ref: Accepted): Promise<void> {
  expect(await t.readKey(ref)).toMatchObject({
    status: 'completed',
    recovery_point: 'finished',
    response_status: row.responseStatus,
    lease_expires_at: null,
  })
  expect(await t.readPayment(ref)).toMatchObject(row.payment)
  expect(await executedOf(row.kind)).toHaveLength(1)
  const postings = await postingsOf(t.engine.store, showPaymentId(ref.paymentId))
  expect(postings).toHaveLength(row.postings)
}

describe.each(table)('$name', (row) => {
  const { name, call, kind, path } = row
  const phases = operations.find((operation) => operation.name === name)?.phases ?? {}

  test('runs to the stored response', async () => {
    const ref = await accepted(row)

    expect(await run(ref)).toBe('finished')

    await expectDone(row, ref)
    expect(t.announced).toContain(ref.id)
  })

  test('does nothing once it is settled', async () => {
    const ref = await accepted(row)
    await run(ref)
    const before = await snapshot(t, ref)

    expect(await run(ref)).toBe('nothing_to_do')

    expect(await snapshot(t, ref)).toEqual(before)
    await expectDone(row, ref)
  })

  test.each(Object.keys(phases))(
    'continues from %s after its owner died before it recorded anything',
    async (point) => {
      const ref = await accepted(row)
      const dying = aroundCommit(t.engine, async (commit) => {
        if ((await t.readKey(ref))['recovery_point'] === point) throw new Error('the process died')
        return commit()
      })
      await expect(run(ref, dying)).rejects.toThrow('the process died')
      expect(await t.readKey(ref)).toMatchObject({ status: 'processing', recovery_point: point })
      expect(await run(ref)).toBe('leased')
      await t.expireLease(ref)

      expect(await run(ref)).toBe('finished')

      await expectDone(row, ref)
      expect(await t.readKey(ref)).toMatchObject({ lease_epoch: 2, attempts: 2 })
    },
  )

  test.each(Object.keys(phases))(
    'goes on from %s when the acknowledgment of its commit is lost',
    async (point) => {
      const ref = await accepted(row)
      let lost = 0
      const losing = aroundCommit(t.engine, async (commit) => {
        const at = (await t.readKey(ref))['recovery_point']
        const result = await commit()
        if (at !== point) return result
        lost += 1
        throw connectionLost()
      })

      expect(await run(ref, losing)).toBe('finished')

      expect(lost).toBe(1)
      await expectDone(row, ref)
    },
  )

  test('of a stale owner that comes back after a successor has finished writes nothing', async () => {
    const ref = await accepted(row)
    let finished = {}
    const engine = aroundCall(t.engine, call, async (original) => {
      const outcome = await original()
      await t.expireLease(ref)
      expect(await run(ref)).toBe('finished')
      finished = await snapshot(t, ref)
      return outcome
    })

    await expect(run(ref, engine)).rejects.toThrow()

    expect(await snapshot(t, ref)).toEqual(finished)
    await expectDone(row, ref)
  })

  test('of a stale owner that comes back while a successor works loses its lease and writes nothing', async () => {
    const ref = await accepted(row)
    let claimed = {}
    const engine = aroundCall(t.engine, call, async (original) => {
      const outcome = await original()
      // The successor dies in its call: it holds the lease, and has recorded nothing.
      const { sql } = t.engine.store
      await sql`
        update idempotency_keys
        set lease_epoch = lease_epoch + 1, lease_expires_at = now() + interval '1 minute'
        where id = ${ref.id}
      `
      claimed = await snapshot(t, ref)
      return outcome
    })

    await expect(run(ref, engine)).rejects.toThrow(LeaseLostError)
    expect(await snapshot(t, ref)).toEqual(claimed)
  })

  test('whose outcome is unknown is resolved by the same provider key', async () => {
    const ref = await accepted(row)
    await t.provider.addFault({ match: { path }, fault: 'reset_after', times: 2 })

    expect(await run(ref)).toBe('finished')

    await expectDone(row, ref)
    expect(await executedOf(kind)).toMatchObject([{ idempotency_key: `atomic_${ref.id}_started` }])
  })

  test('whose outcome is still unknown on the last try is left to the reconciler', async () => {
    const ref = await accepted(row)
    await t.provider.addFault({ match: { path }, fault: 'error_500_after', times: 3 })

    expect(await run(ref, withoutRetries(t.engine))).toBe('gave_up')

    const given = await snapshot(t, ref)
    expect(given.key).toMatchObject({ status: 'unknown', in_doubt: true })
    expect(await run(ref)).toBe('nothing_to_do')
    expect(await reopenOperation(t.engine, ref)).toBe(false)
    expect(await snapshot(t, ref)).toEqual(given)
    expect(await executedOf(kind)).toHaveLength(1)
  })

  test('that is proved not to have run is reopened by one of several retries, and works once', async () => {
    const ref = await accepted(row)
    await t.provider.addFault({ match: { path }, fault: 'rate_limited', times: 3 })
    expect(await run(ref, withoutRetries(t.engine))).toBe('gave_up')
    expect(await t.readKey(ref)).toMatchObject({ status: 'failed_retryable', in_doubt: false })
    expect(await executedOf(kind)).toEqual([])

    const reopened = await Promise.all([1, 2, 3].map(() => reopenOperation(t.engine, ref)))

    expect(reopened.filter(Boolean)).toHaveLength(1)
    expect(await run(ref)).toBe('finished')
    await expectDone(row, ref)
  })
})
