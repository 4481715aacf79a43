// Tests the provider's own records, read through the adapter from the Stripe stand-in and from
// servers that return any answer that a test chooses.
import { randomUUID } from 'node:crypto'
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { showPaymentId } from '../../../../src/domain/payments/payment.ts'
import { showRefundId } from '../../../../src/domain/payments/refund.ts'
import type { PaymentProvider } from '../../../../src/provider/payment-provider.ts'
import { payment } from '../../../dev/stripe-stand-in/running-provider.ts'
import { adapterFor, captured, identityOf, refundOf } from '../adapter-calls.ts'
import {
  answerJson,
  startAnsweringServer,
  type AnsweringServer,
} from '../../contract/answering-server.ts'
import { ownProvider } from '../../../support/own-provider.ts'

const T0_MS = 1_800_000_000_000
const always = { from: new Date(0), to: new Date(T0_MS + 86_400_000) }

const provider = ownProvider({ systemNow: () => T0_MS })
let adapter: PaymentProvider

beforeAll(async () => {
  adapter = adapterFor(provider.url)
})

async function collectPages<Record>(pages: AsyncIterable<readonly Record[]>) {
  const collected: (readonly Record[])[] = []
  for await (const page of pages) collected.push(page)
  return collected
}

async function collect<Record>(pages: AsyncIterable<readonly Record[]>): Promise<Record[]> {
  return (await collectPages(pages)).flat()
}

test('a movement is listed with a positive amount before fees, and with its payment and refund', async () => {
  const paid = await captured(adapter)
  const refund = refundOf(paid, { amountMinor: 500 })
  const given = await adapter.calls.refund.execute({ payment: paid, refund }, identityOf('started'))
  const { providerPaymentId } = paid

  const both = { currency: 'eur', providerPaymentId, createdAt: new Date(T0_MS) }
  const named = { tenantId: paid.tenantId, paymentId: paid.id, operationId: expect.any(String) }
  const ofRefund = { correlation: { ...named, refundId: refund.id } }
  const ofCapture = { correlation: { ...named, refundId: null } }
  const movementId = expect.stringMatching(/^txn_/)
  const { providerRefundId } = (given as { value: { providerRefundId: string } }).value
  expect(await collect(adapter.listMovements(always))).toEqual([
    {
      ...both,
      ...ofRefund,
      movementId,
      kind: 'refund',
      amountMinor: 500,
      fee: { amountMinor: 0, currency: 'eur' },
      providerRefundId,
      providerDisputeId: null,
    },
    {
      ...both,
      ...ofCapture,
      movementId,
      kind: 'capture',
      amountMinor: 1999,
      fee: { amountMinor: 88, currency: 'eur' },
      providerRefundId: null,
      providerDisputeId: null,
    },
  ])
})

describe('a partial capture', () => {
  const capturePart = async () => {
    const { id } = await provider.stripe.paymentIntents.create(
      payment({ amount: 1999, capture_method: 'manual' }),
    )
    await provider.stripe.paymentIntents.capture(id, { amount_to_capture: 500 })
    return id
  }

  test('is one movement of the captured amount, with the fee that was not returned', async () => {
    const providerPaymentId = await capturePart()

    expect(await collect(adapter.listMovements(always))).toMatchObject([
      { kind: 'capture', amountMinor: 500, fee: { amountMinor: 45 }, providerPaymentId },
    ])
  })

  test('lists no refund: what it released was never captured', async () => {
    const paymentIntent = await capturePart()
    await provider.stripe.refunds.create({ payment_intent: paymentIntent, amount: 100 })

    expect(await collect(adapter.listRefunds(always))).toMatchObject([{ amountMinor: 100 }])
  })

  test('has moved the whole authorization when its rest was not reversed', async () => {
    const { data } = await provider.stripe.refunds.list({ payment_intent: await capturePart() })
    await provider.control('DELETE', `/objects/${data[0]?.id}`)

    expect(await collect(adapter.listMovements(always))).toMatchObject([
      { kind: 'unknown', category: 'partial_capture_reversal', amountMinor: -1499 },
      { kind: 'capture', amountMinor: 1999 },
    ])
  })

  test('whose rest was reversed with another amount has an unknown movement', async () => {
    const { data } = await provider.stripe.refunds.list({ payment_intent: await capturePart() })
    await provider.control('POST', `/objects/${data[0]?.id}`, { amount: 1498 })

    expect(await collect(adapter.listMovements(always))).toMatchObject([
      { kind: 'unknown', category: 'partial_capture_reversal' },
      { kind: 'capture', amountMinor: 501 },
    ])
  })

  test('of a refund of what expired uncaptured is no refund either', async () => {
    const { id } = await provider.stripe.paymentIntents.create(payment())
    const refund = await provider.stripe.refunds.create({ payment_intent: id })
    const reason = { reason: 'expired_uncaptured_charge' }
    await provider.control('POST', `/objects/${refund.id}`, reason)

    expect(await collect(adapter.listRefunds(always))).toEqual([])
  })
})

describe('the category of a movement', () => {
  const add = async (movement: object) =>
    await provider.control('POST', '/balance_transactions', { currency: 'eur', ...movement })

  test.each([
    ['adjustment', 'refund_failure', 500, 'refund_failure'],
    ['payment_refund', 'refund_failure', 500, 'refund_failure'],
    ['payment_refund', 'refund', -500, 'refund'],
    ['payment', 'charge', 500, 'capture'],
    ['a_new_type', 'charge', 500, 'capture'],
    ['stripe_fee', 'fee', -500, 'account'],
    ['payout', 'payout', -500, 'account'],
    ['adjustment', 'other_adjustment', -500, 'unknown'],
    ['adjustment', 'dispute', -500, 'dispute'],
    ['adjustment', 'dispute_reversal', 500, 'dispute_reversal'],
    ['charge', 'a_new_category', 500, 'unknown'],
    ['toString', 'toString', 500, 'unknown'],
  ])('decides, not its type: %s, %s', async (type, reporting_category, amount, kind) => {
    await add({ type, reporting_category, amount })

    expect(await collect(adapter.listMovements(always))).toMatchObject([{ kind }])
  })

  test.each([
    ['charge', -500],
    ['charge', 0],
    ['refund', 500],
    ['refund_failure', -500],
  ])('%s with the amount %d is unknown', async (type, amount) => {
    await add({ type, amount })

    expect(await collect(adapter.listMovements(always))).toEqual([
      {
        movementId: expect.stringMatching(/^txn_/),
        kind: 'unknown',
        category: type,
        type,
        amountMinor: amount,
        currency: 'eur',
        fee: { amountMinor: 0, currency: 'eur' },
        sourceId: null,
        providerPaymentId: null,
        createdAt: new Date(T0_MS),
        correlation: null,
      },
    ])
  })

  test('of the account is unknown when the movement names a payment', async () => {
    const { id, latest_charge } = await provider.stripe.paymentIntents.create(payment())
    await add({ type: 'stripe_fee', amount: -5, source: latest_charge })

    const [fee] = await collect(adapter.listMovements(always))

    expect(fee).toMatchObject({ kind: 'unknown', category: 'fee', providerPaymentId: id })
  })
})

test('the provider status is undefined in a state that no payment of ours can have', async () => {
  await provider.stripe.paymentIntents.create(payment({ confirm: false }))

  expect(await collect(adapter.listPayments(always))).toMatchObject([{ providerStatus: undefined }])
})

const tenant = randomUUID()
const operation = randomUUID()
const ours = {
  atomic_tenant: tenant,
  atomic_payment: showPaymentId(tenant),
  atomic_operation: operation,
}

test.each([
  ['nothing of ours', { order: '7' }],
  ['no tenant', { atomic_payment: ours.atomic_payment, atomic_operation: operation }],
  ['a tenant that is no id', { ...ours, atomic_tenant: 'me' }],
  ['a payment that is no id', { ...ours, atomic_payment: 'pay_1' }],
  ['a refund for a payment', { ...ours, atomic_payment: showRefundId(tenant) }],
  ['an operation that is no id', { ...ours, atomic_operation: '7' }],
  ['a refund that is no id', { ...ours, atomic_refund: 're_1' }],
])('metadata with %s names no owner', async (_case, metadata) => {
  await provider.stripe.paymentIntents.create(payment({ metadata }))

  expect(await collect(adapter.listPayments(always))).toMatchObject([{ correlation: null }])
})

test('a window also limits the refunds and the movements', async () => {
  for (const amount of [100, 200, 300]) {
    const paid = await provider.stripe.paymentIntents.create(payment({ amount }))
    await provider.stripe.refunds.create({ payment_intent: paid.id })
    await provider.control('POST', '/clock', { advance_seconds: 10 })
  }
  const window = { from: new Date(T0_MS), to: new Date(T0_MS + 20_000) }
  const amounts = (records: { amountMinor: number }[]) => records.map((one) => one.amountMinor)

  expect(amounts(await collect(adapter.listRefunds(window)))).toEqual([200, 100])
  expect(amounts(await collect(adapter.listMovements(window)))).toEqual([200, 200, 100, 100])
})

describe('a malformed answer', () => {
  let server: AnsweringServer
  afterEach(async () => server.close())

  const list = (...data: unknown[]) => ({ object: 'list', data, has_more: false })

  async function answering(body: unknown): Promise<PaymentProvider> {
    server = await startAnsweringServer(answerJson(200, body))
    return adapterFor(server.url)
  }

  test('the same page again and again is an error, not an endless loop', async () => {
    const page = { ...list(intent({})), has_more: true }

    await expect(collect((await answering(page)).listPayments(always))).rejects.toThrow(
      'do not end',
    )
    expect(server.requests()).toBe(2)
  })

  const created = T0_MS / 1000
  const common = { amount: 1999, currency: 'eur', created, metadata: {} }
  const intent = (members: object) => ({
    id: 'pi_1',
    object: 'payment_intent',
    ...common,
    ...members,
  })
  const refund = (members: object) => ({ id: 're_1', object: 'refund', ...common, ...members })
  const movement = (members: object) => ({
    id: 'txn_1',
    object: 'balance_transaction',
    type: 'charge',
    reporting_category: 'charge',
    fee: 0,
    source: { id: 'ch_1', payment_intent: 'pi_1', amount_captured: 1999, currency: 'eur' },
    ...common,
    ...members,
  })

  const wrong = [
    { object: 'charge' },
    { amount: '1999' },
    { amount: 19.99 },
    { amount: null },
    { amount: 0 },
    { currency: 'EUR' },
    { currency: undefined },
    { created: '2027' },
    { created: -1 },
    { created: 2 ** 40 },
  ]
  const broken = [
    ...[...wrong, { metadata: null }, { metadata: 'none' }].map((members) => ({
      what: 'payment',
      members,
      record: intent(members),
      read: (answered: PaymentProvider) => answered.listPayments(always),
    })),
    ...wrong.map((members) => ({
      what: 'refund',
      members,
      record: refund(members),
      read: (answered: PaymentProvider) => answered.listRefunds(always),
    })),
    ...[
      ...wrong.filter((members) => members.amount !== 0),
      { type: null },
      { fee: null },
      { fee: 0.5 },
    ].map((members) => ({
      what: 'movement',
      members,
      record: movement(members),
      read: (answered: PaymentProvider) => answered.listMovements(always),
    })),
  ]

  test.each(broken)('a $what with $members is an error, not skipped', async ({ record, read }) => {
    const pages: AsyncIterable<readonly unknown[]> = read(await answering(list(record)))

    await expect(collect(pages)).rejects.toThrow(`record ${record.id} is malformed`)
  })

  const noAmountOfAPayment = [
    { amount: 0 },
    { amount: -1999 },
    { reporting_category: 'refund' },
    { reporting_category: null },
    { exchange_rate: 1.1, source: 'ch_1' },
    { currency: 'usd', source: { id: 'ch_1', amount_captured: 0, currency: 'eur' } },
  ]

  test.each(noAmountOfAPayment)('a movement with %j is unknown, not skipped', async (members) => {
    const answered = await answering(list(movement(members)))

    expect(await collect(answered.listMovements(always))).toMatchObject([{ kind: 'unknown' }])
  })

  test('a record with a different id than requested is an error', async () => {
    const answered = await answering(intent({}))

    await expect(answered.readPayment('pi_2')).rejects.toThrow('not about pi_2')
  })

  test.each(['succeeded', 'pending', 'requires_action', 'failed', 'canceled'])(
    'a refund that is %s',
    async (status) => {
      const answered = await answering(refund({ status, payment_intent: { id: 'pi_1' } }))

      expect(await answered.readRefund('re_1')).toMatchObject({
        providerStatus: { providerRefundId: 're_1', status },
        providerPaymentId: 'pi_1',
      })
    },
  )

  test.each([null, 'lost'])(
    'a refund whose status is %j has no provider status',
    async (status) => {
      const answered = await answering(refund({ status }))

      expect(await answered.readRefund('re_1')).toMatchObject({ providerStatus: undefined })
    },
  )

  test.each([null, 'none'])('a refund with metadata %j names no owner', async (none) => {
    const answered = await answering(list(refund({ status: 'succeeded', metadata: none })))

    expect(await collect(answered.listRefunds(always))).toMatchObject([{ correlation: null }])
  })

  test.each([1.1, 1])(
    'the amount that the customer paid is shown for a balance in another currency, exchanged at %d',
    async (exchange_rate) => {
      const source = { id: 're_1', payment_intent: 'pi_1', amount: 500, currency: 'eur' }
      const exchanged = { currency: 'usd', exchange_rate }
      const answered = await answering(
        list(
          movement({ ...exchanged, amount: 2199 }),
          movement({ ...exchanged, amount: -550, reporting_category: 'refund', source }),
          movement({ ...exchanged, amount: 550, reporting_category: 'refund_failure', source }),
        ),
      )

      expect(await collect(answered.listMovements(always))).toMatchObject([
        { kind: 'capture', amountMinor: 1999, currency: 'eur', providerPaymentId: 'pi_1' },
        { kind: 'refund', amountMinor: 500, currency: 'eur', providerRefundId: 're_1' },
        { kind: 'refund_failure', amountMinor: 500, currency: 'eur', providerRefundId: 're_1' },
      ])
    },
  )

  test('a rate of 1 between the same currencies exchanges nothing', async () => {
    const source = { id: 'ch_1', payment_intent: 'pi_1', amount_captured: 5, currency: 'eur' }
    const answered = await answering(list(movement({ exchange_rate: 1, source })))

    expect(await collect(answered.listMovements(always))).toMatchObject([
      { amountMinor: 1999, currency: 'eur' },
    ])
  })

  test('a source that is only an id names the refund, but no payment', async () => {
    const answered = await answering(
      list(movement({ reporting_category: 'refund', amount: -500, source: 're_1' })),
    )

    expect(await collect(answered.listMovements(always))).toMatchObject([
      { amountMinor: 500, providerPaymentId: null, providerRefundId: 're_1' },
    ])
  })
})
