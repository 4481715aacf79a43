// Tests what is Braintree's alone, at its stand-in and with the official package: order ids, duplicates,
// refusals in codes, settlement, and searches that lag. The promises of the port are tested in
// test/provider/contract.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Outcome } from '../../../src/domain/operations/outcome.ts'
import type { Payment } from '../../../src/domain/payments/payment.ts'
import { correlationIn, showOrderId } from '../order-id.ts'
import type { PaymentProvider } from '../../../src/provider/payment-provider.ts'
import { capture } from '../../../test/provider/contract/calls.ts'
import { identityOf, refundOf, criteriaOf } from '../../../test/provider/contract/payments.ts'
import {
  adapterFor,
  authorized,
  paymentOf,
  settled,
  startStandIn,
  type RunningStandIn,
} from './adapter-calls.ts'

const T0_MS = 1_800_000_000_000
const HOUR_MS = 3_600_000
const always = { from: new Date(T0_MS - 86_400_000), to: new Date(T0_MS + 86_400_000) }

let standIn: RunningStandIn
let adapter: PaymentProvider

beforeAll(async () => {
  standIn = await startStandIn(() => T0_MS)
  adapter = adapterFor(standIn.url)
})
beforeEach(async () => void (await standIn.control('POST', '/reset')))
afterAll(async () => standIn.close())

const moveTo = ({ providerPaymentId }: Payment, status: string) =>
  standIn.control('POST', `/transactions/${providerPaymentId}/status`, { status })
const plant = (id: string | null, members: object) =>
  standIn.control('POST', `/transactions/${id}`, members)
const executed = async (kind: string) =>
  (await standIn.executed()).filter((entry) => entry.kind === kind)

async function collect<Record>(pages: AsyncIterable<readonly Record[]>): Promise<Record[]> {
  const records: Record[] = []
  for await (const page of pages) records.push(...page)
  return records
}

describe('an order id', () => {
  test('has our ids, in at most 127 characters, and no client can forge one', async () => {
    const payment = paymentOf({ metadata: { order: 'forged' }, reference: 'forged' })
    const identity = identityOf('started')
    await adapter.calls.authorize.execute({ payment }, identity)

    const [{ order_id: orderId } = { order_id: null }] = await standIn.executed()

    const { tenantId, id: paymentId } = payment
    const { operationId } = identity
    expect(correlationIn(orderId)).toEqual({ tenantId, paymentId, operationId, refundId: null })
    const longest = { tenantId, paymentId, operationId, refundId: randomUUID() }
    expect(correlationIn(showOrderId(longest))).toEqual(longest)
    expect(showOrderId(longest).length).toBeLessThanOrEqual(127)
  })

  test.each([null, 7, '', 'order-7', 'tnt_1.pay_1.op_1', 'tnt_x.'.repeat(5)])(
    'of another client names none of ours: %j',
    (orderId) => {
      expect(correlationIn(orderId)).toBeNull()
    },
  )
})

describe('an authorization', () => {
  test('in a currency without a merchant account is declined, and not sent', async () => {
    const payment = paymentOf({ currency: 'gbp' })

    const outcome = await adapter.calls.authorize.execute({ payment }, identityOf('started'))

    expect(outcome).toMatchObject({
      outcome: 'declined',
      failure: { code: 'currency_not_supported' },
    })
    expect(await standIn.executed()).toEqual([])
  })

  test.each([
    ['jpy', 1999, '1999'],
    ['isk', 199_900, '1999'],
  ])('in %s sends its amount exactly', async (currency, amountMinor, amount) => {
    const payment = paymentOf({ currency, amountMinor })

    const outcome = await adapter.calls.authorize.execute({ payment }, identityOf('started'))

    expect(outcome).toMatchObject({ outcome: 'done', asked: { amount } })
    expect(await standIn.executed()).toMatchObject([{ value: amount, currency }])
  })

  test('of an amount that Braintree cannot express is declined, and not sent', async () => {
    const payment = paymentOf({ currency: 'isk', amountMinor: 199_950 })

    const outcome = await adapter.calls.authorize.execute({ payment }, identityOf('started'))

    expect(outcome).toMatchObject({
      outcome: 'declined',
      failure: { code: 'amount_not_supported' },
    })
    expect(await standIn.executed()).toEqual([])
  })

  test('uses a stored method only with the customer that owns it', async () => {
    const stored = { paymentMethod: 'customer_7_card', customer: 'customer_7' }
    const other = { ...stored, customer: 'customer_8' }
    const without = { ...stored, customer: null }
    const outcomes = []
    for (const fields of [stored, other, without]) {
      const payment = paymentOf(fields)
      outcomes.push(await adapter.calls.authorize.execute({ payment }, identityOf('started')))
    }

    expect(outcomes).toMatchObject([
      { outcome: 'done' },
      { outcome: 'declined', failure: { code: '91516' } },
      { outcome: 'declined', failure: { code: '91565' } },
    ])
  })

  test.each([
    ['fake-processor-declined-visa-nonce', 'processor_declined', '2000'],
    ['fake-processor-failure-jcb-nonce', 'failed', '3000'],
    ['fake-gateway-rejected-fraud-nonce', 'gateway_rejected', 'fraud'],
    ['fake-luhn-invalid-nonce', '81715', null],
    ['fake-consumed-nonce', '91564', null],
    ['unknown-nonce', '91565', null],
  ])('with %s is declined: %s, %s', async (paymentMethod, code, declineCode) => {
    const payment = paymentOf({ paymentMethod })

    const outcome = await adapter.calls.authorize.execute({ payment }, identityOf('started'))

    expect(outcome).toMatchObject({ outcome: 'declined', failure: { code, declineCode } })
    expect(await standIn.executed()).toEqual([])
    expect(JSON.stringify(outcome)).not.toMatch(/411111|Ada/)
  })

  test('that is sent again is refused as a duplicate: unknown, and a lookup finds the first', async () => {
    const payment = paymentOf()
    const identity = identityOf('started')
    const first = await adapter.calls.authorize.execute({ payment }, identity)

    const second = await adapter.calls.authorize.execute({ payment }, identity)

    expect(second).toMatchObject({ outcome: 'unknown', answered: { rejection: 'duplicate' } })
    expect(
      await adapter.calls.authorize.find({ payment }, criteriaOf(identity, T0_MS)),
    ).toMatchObject({
      outcome: 'done',
      value: (first as { value: unknown }).value,
      answered: { listed: 2 },
    })
    expect(await executed('transaction.sale')).toHaveLength(1)
  })

  test('that is sent again later makes a second hold, which a lookup leaves unknown', async () => {
    const payment = paymentOf()
    const identity = identityOf('started')
    await adapter.calls.authorize.execute({ payment }, identity)
    await standIn.control('POST', '/clock', { advance_seconds: 31 })

    const second = await adapter.calls.authorize.execute({ payment }, identity)

    expect(second.outcome).toBe('done')
    expect(await executed('transaction.sale')).toHaveLength(2)
    expect(
      await adapter.calls.authorize.find({ payment }, criteriaOf(identity, T0_MS)),
    ).toMatchObject({
      outcome: 'unknown',
      answered: { found: [expect.any(String), expect.any(String)] },
    })
  })

  test.each([
    ['voided', 'declined'],
    ['authorization_expired', 'declined'],
    ['submitted_for_settlement', 'unknown'],
    ['authorizing', 'unknown'],
    ['of_another_age', 'unknown'],
  ])('that is %s is found as %s', async (status, outcome) => {
    const payment = paymentOf()
    const identity = identityOf('started')
    const made = await adapter.calls.authorize.execute({ payment }, identity)
    const { providerPaymentId } = (made as { value: { providerPaymentId: string } }).value
    await moveTo({ ...payment, providerPaymentId }, status)

    const found = await adapter.calls.authorize.find({ payment }, criteriaOf(identity, T0_MS))

    expect(found.outcome).toBe(outcome)
  })

  test('whose id is known is read by it; with a wrong id it is searched', async () => {
    const payment = paymentOf()
    const identity = identityOf('started')
    const made = await adapter.calls.authorize.execute({ payment }, identity)
    const { providerPaymentId: id } = (made as { value: { providerPaymentId: string } }).value
    const { providerPaymentId: otherId } = await authorized(adapter)
    const find = (providerPaymentId: string | null) =>
      adapter.calls.authorize.find({ payment }, criteriaOf(identity, T0_MS, { providerPaymentId }))

    expect(await find(id)).toMatchObject({ outcome: 'done', asked: { call: 'transaction.find' } })
    for (const wrong of [otherId, 'unknown-id', '../unknown-id']) {
      expect(await find(wrong)).toMatchObject({
        outcome: 'done',
        value: { providerPaymentId: id },
        asked: { call: 'transaction.search' },
      })
    }
  })
})

describe('a search that lags', () => {
  const identity = identityOf('started')
  const payment = paymentOf()
  const findAfter = (elapsedMs: number, searchLagMs?: number) =>
    adapterFor(standIn.url, 10_000, {
      now: () => T0_MS + elapsedMs,
      ...(searchLagMs !== undefined && { searchLagMs }),
    }).calls.authorize.find({ payment }, criteriaOf(identity, T0_MS))

  test('proves no absence for an hour', async () => {
    expect(await findAfter(HOUR_MS - 1)).toMatchObject({
      outcome: 'unknown',
      answered: { listed: 0 },
    })
    expect((await findAfter(HOUR_MS)).outcome).toBe('not_executed')
    expect((await findAfter(1_000, 1_000)).outcome).toBe('not_executed')
  })

  test('hides a hold that exists, and never counts as its absence', async () => {
    await standIn.control('POST', '/settings', { search_lag_seconds: 60 })
    await adapter.calls.authorize.execute({ payment }, identity)

    expect((await findAfter(30_000)).outcome).toBe('unknown')
    await standIn.control('POST', '/clock', { advance_seconds: 60 })
    expect((await findAfter(60_000)).outcome).toBe('done')
  })

  test('does not matter to a refund, whose absence its sale proves', async () => {
    const paid = await settled(adapter, standIn)
    await standIn.control('POST', '/settings', { search_lag_seconds: 60 })
    const refund = refundOf(paid)
    const find = () =>
      adapter.calls.refund.find({ payment: paid, refund }, criteriaOf(identity, T0_MS))

    const before = await find()
    await adapter.calls.refund.execute({ payment: paid, refund }, identity)

    expect(before).toMatchObject({ outcome: 'not_executed', answered: { listed: 0 } })
    expect(await find()).toMatchObject({ outcome: 'done', answered: { listed: 1 } })
  })
})

describe('a capture', () => {
  const execute = (payment: Payment, amountMinor = payment.amountMinor) =>
    adapter.calls.capture.execute({ payment, amountMinor }, identityOf('authorized'))
  const find = (payment: Payment, amountMinor = payment.amountMinor) =>
    adapter.calls.capture.find(
      { payment, amountMinor },
      criteriaOf(identityOf('authorized'), T0_MS),
    )

  test('of a part is done, and the record still has the whole amount', async () => {
    const payment = await authorized(adapter)

    expect(await execute(payment, 500)).toMatchObject({ value: { amountCapturedMinor: 500 } })
    expect(await find(payment, 500)).toMatchObject({ value: { amountCapturedMinor: 500 } })
    expect(await find(payment)).toMatchObject({ outcome: 'unknown' })
    const captured = { status: 'captured', amountCapturedMinor: 500 }
    expect(await adapter.retrieve(payment)).toMatchObject({ value: captured })
    expect(await collect(adapter.listPayments(always))).toMatchObject([
      { amountMinor: 1999, providerStatus: captured },
    ])
    expect(await collect(adapter.listMovements(always))).toMatchObject([
      { kind: 'capture', amountMinor: 500 },
    ])
  })

  test('again is refused in code 91507: unknown, and a lookup finds it', async () => {
    const payment = await capture(adapter, await authorized(adapter))

    expect(await execute(payment)).toMatchObject({
      outcome: 'unknown',
      answered: { code: '91507' },
    })
    expect((await find(payment)).outcome).toBe('done')
    expect(await executed('transaction.submit_for_settlement')).toHaveLength(1)
  })

  test.each([
    ['voided', null],
    ['authorization_expired', 'expired'],
  ])(
    'of what is %s is found as declined, and says that nothing is held',
    async (status, reason) => {
      const payment = await authorized(adapter)
      await moveTo(payment, status)

      expect((await execute(payment)).outcome).toBe('unknown')
      expect(await find(payment)).toMatchObject({
        outcome: 'declined',
        failure: { code: '91507' },
        canceled: { reason },
      })
    },
  )

  test('of more than is held is declined', async () => {
    const payment = await authorized(adapter)

    expect(await execute(payment, 2000)).toMatchObject({
      outcome: 'declined',
      failure: { code: '91522' },
    })
  })

  test.each(['settling', 'settled', 'settlement_confirmed'])(
    'that is %s is done',
    async (status) => {
      const payment = await capture(adapter, await authorized(adapter))
      await moveTo(payment, status)

      expect((await find(payment)).outcome).toBe('done')
    },
  )

  test('of a sale of another payment is unknown', async () => {
    const payment = await authorized(adapter)
    const other = await authorized(adapter)

    const found = await find({ ...payment, providerPaymentId: other.providerPaymentId })

    expect(found.outcome).toBe('unknown')
  })
})

describe('an adjustment', () => {
  const execute = (payment: Payment, amountMinor: number) =>
    adapter.calls.adjust.execute({ payment, amountMinor }, identityOf('started'))

  test.each([
    ['to the amount that is held', 'authorized', 1999, 'unknown', '95606'],
    ['of what is voided', 'voided', 2499, 'unknown', '915218'],
    ['that the bank refuses', 'authorized', 200_000, 'declined', '95602'],
  ])('%s: %s, %d, %s', async (_case, status, amountMinor, outcome, code) => {
    const payment = await authorized(adapter)
    await moveTo(payment, status)

    expect(await execute(payment, amountMinor)).toMatchObject({ outcome, answered: { code } })
  })
})

describe('a cancellation', () => {
  const execute = (payment: Payment) =>
    adapter.calls.cancel.execute({ payment, reason: 'abandoned' }, identityOf('started'))
  const find = (payment: Payment) =>
    adapter.calls.cancel.find({ payment }, criteriaOf(identityOf('started'), T0_MS))

  test('has its reason; Braintree stores none, so a lookup has none', async () => {
    const payment = await authorized(adapter)

    expect(await execute(payment)).toMatchObject({ value: { reason: 'abandoned' } })
    expect(await find(payment)).toMatchObject({ outcome: 'done', value: { reason: null } })
    expect(await execute(payment)).toMatchObject({
      outcome: 'unknown',
      answered: { code: '91504' },
    })
  })

  test('undoes a capture that is not settled: then nothing is captured', async () => {
    const payment = await capture(adapter, await authorized(adapter))

    expect((await execute(payment)).outcome).toBe('done')
    expect(await adapter.retrieve(payment)).toMatchObject({ value: { status: 'canceled' } })
    expect(await collect(adapter.listMovements(always))).toEqual([])
  })

  test('of what is settled is unknown, and found as declined', async () => {
    const payment = await settled(adapter, standIn)

    expect((await execute(payment)).outcome).toBe('unknown')
    expect(await find(payment)).toMatchObject({ outcome: 'declined', failure: { code: '91504' } })
  })
})

describe('a refund', () => {
  const execute = (payment: Payment, amountMinor: number, identity = identityOf('started')) => {
    const refund = refundOf(payment, { id: randomUUID(), amountMinor })
    return adapter.calls.refund.execute({ payment, refund }, identity)
  }

  test('before the settlement is not executed, and waits', async () => {
    const payment = await capture(adapter, await authorized(adapter))

    expect(await execute(payment, 500)).toMatchObject({
      outcome: 'not_executed',
      aboutObject: true,
      retryLater: true,
      answered: { code: '91506' },
    })
  })

  test.each([
    ['more than is left', 1000, 1000, '91521'],
    ['after all of it', 1999, 1, '91512'],
  ])('of %s is declined', async (_case, givenMinor, amountMinor, code) => {
    const payment = await settled(adapter, standIn)
    await execute(payment, givenMinor)

    expect(await execute(payment, amountMinor)).toMatchObject({
      outcome: 'declined',
      failure: { code },
    })
    expect(await executed('transaction.refund')).toMatchObject([{ amount: givenMinor }])
  })

  test.each([
    ['submitted_for_settlement', { status: 'pending', moved: false }],
    ['settling', { status: 'pending', moved: false }],
    ['settled', { status: 'succeeded', moved: true }],
    ['voided', { status: 'canceled', moved: false }],
    ['settlement_declined', { status: 'failed', moved: false }],
  ])('that is %s stands at %j', async (status, providerStatus) => {
    const payment = await settled(adapter, standIn)
    const refund = refundOf(payment)
    const identity = identityOf('started')
    const made = await adapter.calls.refund.execute({ payment, refund }, identity)
    const { providerRefundId } = (made as { value: { providerRefundId: string } }).value
    await moveTo({ ...payment, providerPaymentId: providerRefundId }, status)

    const known = { ...refund, providerRefundId }
    expect(await adapter.retrieveRefund(known)).toMatchObject({ value: providerStatus })
    const found = await adapter.calls.refund.find({ payment, refund }, criteriaOf(identity, T0_MS))
    expect(found).toMatchObject({ outcome: 'done', value: providerStatus })
    const movements = await collect(adapter.listMovements(always))
    const moved = movements.filter(({ kind }) => kind === 'refund')
    expect(moved).toHaveLength(providerStatus.moved ? 1 : 0)
  })

  test('is told from the other refunds of its payment', async () => {
    const payment = await settled(adapter, standIn)
    const refunds = [500, 700].map((amountMinor) =>
      refundOf(payment, { id: randomUUID(), amountMinor }),
    )
    const [first, second] = refunds.map((refund) => ({ refund, identity: identityOf('started') }))
    if (first === undefined || second === undefined) throw new Error('there are two')
    const find = ({ refund, identity }: typeof first) =>
      adapter.calls.refund.find({ payment, refund }, criteriaOf(identity, T0_MS))

    await adapter.calls.refund.execute({ payment, refund: first.refund }, first.identity)

    expect(await find(second)).toMatchObject({ outcome: 'not_executed', answered: { listed: 1 } })
    await adapter.calls.refund.execute({ payment, refund: second.refund }, second.identity)
    expect(await find(first)).toMatchObject({ outcome: 'done', answered: { amount: 500 } })
    expect(await find(second)).toMatchObject({ outcome: 'done', answered: { amount: 700 } })
  })

  test('that exists twice is unknown, with the ids of both', async () => {
    const payment = await settled(adapter, standIn)
    const refund = refundOf(payment, { amountMinor: 500 })
    const identity = identityOf('started')
    await adapter.calls.refund.execute({ payment, refund }, identity)
    await adapter.calls.refund.execute({ payment, refund }, identity)

    const found = await adapter.calls.refund.find({ payment, refund }, criteriaOf(identity, T0_MS))

    expect(found).toMatchObject({ outcome: 'unknown', answered: { listed: 2 } })
    expect(await executed('transaction.refund')).toHaveLength(2)
  })

  test.each([{ refundIds: null }, { refundIds: ['a b'] }, { refundIds: ['unknown-id'] }])(
    'of a sale with %j is unknown, never absent',
    async (members) => {
      const payment = await settled(adapter, standIn)
      await plant(payment.providerPaymentId, members)
      const refund = refundOf(payment)

      const criteria = criteriaOf(identityOf('started'), T0_MS)
      expect((await adapter.calls.refund.find({ payment, refund }, criteria)).outcome).toBe(
        'unknown',
      )
    },
  )
})

test.each([
  ['authorizing', { status: 'undecided' }],
  ['settlement_pending', { status: 'undecided' }],
  ['authorized', { status: 'held', captureBefore: new Date(T0_MS + 7 * 86_400_000) }],
  ['voided', { status: 'canceled', reason: null }],
  ['authorization_expired', { status: 'canceled', reason: 'expired' }],
  ['settled', { status: 'captured', amountCapturedMinor: 1999 }],
  ['settlement_declined', { status: 'refused' }],
])('a payment that is %s stands at %j', async (status, providerStatus) => {
  const payment = await authorized(adapter)
  await moveTo(payment, status)

  expect(await adapter.retrieve(payment)).toMatchObject({ outcome: 'done', value: providerStatus })
})

test('a hold expires when Braintree says that it does', async () => {
  const payment = await authorized(adapter)
  await standIn.control('POST', '/clock', { advance_seconds: 7 * 86_400 })

  const canceled = { status: 'canceled', reason: 'expired' }
  expect(await adapter.retrieve(payment)).toMatchObject({ value: canceled })
})

describe('a dispute', () => {
  const open = (payment: Payment, kind: string) =>
    standIn.control<{ id: string }>('POST', '/disputes', {
      transaction: payment.providerPaymentId,
      kind,
    })

  test.each([
    ['chargeback', 'open', 'needs_response', 1999, 0],
    ['chargeback', 'under_review', 'under_review', 1999, 0],
    ['pre_arbitration', 'lost', 'lost', 1999, 0],
    ['chargeback', 'won', 'won', 1999, 1999],
    ['chargeback', 'expired', 'lost', 1999, 0],
    ['retrieval', 'open', 'warning_needs_response', 0, 0],
    ['retrieval', 'accepted', 'warning_closed', 0, 0],
  ])('%s, %s: %s', async (kind, theirs, status, withdrawnMinor, reinstatedMinor) => {
    const payment = await settled(adapter, standIn)
    const { id } = await open(payment, kind)
    await standIn.control('POST', `/disputes/${id}`, { status: theirs })

    const dispute = await adapter.readDispute(id)

    expect(dispute).toMatchObject({
      providerPaymentId: payment.providerPaymentId,
      providerStatus: {
        status,
        amountMinor: 1999,
        currency: 'eur',
        withdrawnMinor,
        reinstatedMinor,
      },
      correlation: { paymentId: payment.id },
    })
    expect(await collect(adapter.listDisputes(always))).toEqual([dispute])
    const retrieved = await adapter.retrieveDispute({ providerDisputeId: id } as never)
    expect(retrieved).toMatchObject({ outcome: 'done', value: dispute?.providerStatus })
    const movements = await collect(adapter.listMovements(always))
    const amounts = movements
      .filter(({ kind: moved }) => moved.startsWith('dispute'))
      .map(({ kind: moved, amountMinor }) => [moved, amountMinor])
    expect(amounts).toEqual([
      ...(withdrawnMinor > 0 ? [['dispute', withdrawnMinor]] : []),
      ...(reinstatedMinor > 0 ? [['dispute_reversal', reinstatedMinor]] : []),
    ])
  })
})

test('there are no early fraud warnings', async () => {
  expect(await adapter.readEarlyFraudWarning('warning')).toBeUndefined()
})

test('the account is the merchant and its environment, once Braintree accepts the keys', async () => {
  expect(await adapter.readAccount()).toBe('merchant sandbox')
  const wrong = adapterFor(standIn.url, 10_000, { privateKey: 'wrong' })
  await expect(wrong.readAccount()).rejects.toThrow('Authentication Error')
})

describe('an account with request keys', () => {
  const withKeys = () => adapterFor(standIn.url, 10_000, { sendsKeys: true })
  beforeEach(() => standIn.control('POST', '/settings', { request_keys: true }))

  test('is declared to keep them for 30 days, and any other one not at all', () => {
    expect(withKeys().capabilities.keys).toMatchObject({ keptSeconds: 2_592_000 })
    expect(adapter.capabilities.keys).toBeNull()
  })

  test('executes each call once, however often it is sent', async () => {
    const payment = paymentOf()
    const started = identityOf('started')
    const authorize = () => withKeys().calls.authorize.execute({ payment }, started)
    const outcomes: Outcome<unknown>[] = [await authorize(), await authorize()]
    const { providerPaymentId } = (outcomes[0] as { value: { providerPaymentId: string } }).value
    const held = { ...payment, providerPaymentId }
    const capturing = identityOf('authorized')
    for (let sent = 0; sent < 2; sent += 1) {
      outcomes.push(await withKeys().calls.capture.execute({ payment: held }, capturing))
    }
    await moveTo(held, 'settled')
    const paid = { ...held, amountCapturedMinor: held.amountMinor }
    const [refund, refunding] = [refundOf(paid), identityOf('started')]
    for (let sent = 0; sent < 2; sent += 1) {
      outcomes.push(await withKeys().calls.refund.execute({ payment: paid, refund }, refunding))
    }

    expect(outcomes.map(({ outcome }) => outcome)).toEqual(Array.from({ length: 6 }, () => 'done'))
    expect((await standIn.executed()).map(({ kind }) => kind)).toEqual([
      'transaction.sale',
      'transaction.submit_for_settlement',
      'transaction.refund',
    ])
  })

  test('keeps the key of a refund that has to wait for the settlement', async () => {
    const paid = await capture(withKeys(), await authorized(withKeys()))
    const [refund, identity] = [refundOf(paid), identityOf('started')]
    const execute = () => withKeys().calls.refund.execute({ payment: paid, refund }, identity)

    expect(await execute()).toMatchObject({ outcome: 'not_executed', retryLater: true })
    await moveTo(paid, 'settled')
    expect((await execute()).outcome).toBe('done')
  })

  test('does not read after the lease whether a refund has to wait', async () => {
    const paid = await capture(withKeys(), await authorized(withKeys()))
    const late = { ...identityOf('started'), sendBeforeMs: performance.now() }
    const request = { payment: paid, refund: refundOf(paid) }

    expect(await withKeys().calls.refund.execute(request, late)).toMatchObject({
      outcome: 'not_executed',
      asked: { call: 'transaction.find' },
      answered: { error: 'timeout' },
    })
  })

  test('declines a repetition of what was declined', async () => {
    const payment = paymentOf({ paymentMethod: 'fake-processor-declined-visa-nonce' })
    const identity = identityOf('started')
    const execute = () => withKeys().calls.authorize.execute({ payment }, identity)

    expect([(await execute()).outcome, (await execute()).outcome]).toEqual(['declined', 'declined'])
  })

  test.each([
    ['key_in_flight', '915233'],
    ['key_server_error', '915235'],
  ])('with the fault %s the outcome is unknown: %s', async (fault, code) => {
    await standIn.addFault({ match: { method: 'POST', path: '/transactions' }, fault })

    const outcome = await withKeys().calls.authorize.execute(
      { payment: paymentOf() },
      identityOf('started'),
    )

    expect(outcome).toMatchObject({ outcome: 'unknown', answered: { code } })
  })

  test('keeps a failure under its key, which is no decline', async () => {
    const payment = paymentOf({ paymentMethod: 'unknown-nonce' })
    const identity = identityOf('started')
    const execute = () => withKeys().calls.authorize.execute({ payment }, identity)

    expect(await execute()).toMatchObject({ outcome: 'declined', failure: { code: '91565' } })
    expect(await execute()).toMatchObject({
      outcome: 'unknown',
      storedFailure: 'certain',
      answered: { code: '915234' },
    })
    const other = { ...payment, paymentMethod: 'fake-valid-nonce' }
    expect(await withKeys().calls.authorize.execute({ payment: other }, identity)).toMatchObject({
      outcome: 'unknown',
      answered: { code: '915232' },
    })
  })

  test('is not the account: nothing was executed, and no payment is declined', async () => {
    await standIn.control('POST', '/settings', { request_keys: false })

    const outcome = await withKeys().calls.authorize.execute(
      { payment: paymentOf() },
      identityOf('started'),
    )

    expect(outcome).toMatchObject({ outcome: 'not_executed', answered: { code: '915231' } })
  })
})
