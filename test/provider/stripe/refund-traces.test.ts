// Tests the lookup of a refund whose answer was lost, at the Stripe stand-in, by the refund that the
// call left there.
import { randomUUID } from 'node:crypto'
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Outcome } from '../../../src/domain/operations/outcome.ts'
import type { Payment } from '../../../src/domain/payments/payment.ts'
import { showRefundId } from '../../../src/domain/payments/refund.ts'
import { showId } from '../../../src/domain/resource-id.ts'
import type { PaymentProvider } from '../../../src/provider/payment-provider.ts'
import type { LookupCriteria } from '../../../src/provider/calls.ts'
import { adapterFor, captured, identityOf, refundOf, criteriaOf } from './adapter-calls.ts'
import { ownProvider } from '../../support/own-provider.ts'

const T0_MS = 1_800_000_000_000

const provider = ownProvider({ systemNow: () => T0_MS })
let adapter: PaymentProvider

beforeAll(async () => {
  adapter = adapterFor(provider.url)
})

const plant = (id: string | null, members: object) =>
  provider.control('POST', `/objects/${id}`, members)

const valueIn = <Value>(outcome: Outcome<Value>): Value => {
  if (outcome.outcome !== 'done') throw new Error(`not done: ${JSON.stringify(outcome)}`)
  return outcome.value
}

describe('a refund', () => {
  const identity = identityOf('started')
  let payment: Payment
  let refund: ReturnType<typeof refundOf>
  beforeEach(async () => {
    payment = await captured(adapter)
    refund = refundOf(payment, { id: randomUUID(), amountMinor: 500 })
  })

  const lose = async () =>
    valueIn(await adapter.calls.refund.execute({ payment, refund }, identity)).providerRefundId
  const find = (fields: Partial<LookupCriteria> = {}) =>
    adapter.calls.refund.find({ payment, refund }, criteriaOf(identity, T0_MS, fields))

  test('that exists is done, with evidence of where it was found', async () => {
    await provider.stripe.refunds.create({
      payment_intent: payment.providerPaymentId ?? '',
      amount: 500,
    })
    const id = await lose()

    expect(await find()).toEqual({
      outcome: 'done',
      value: { providerRefundId: id, status: 'succeeded', moved: true },
      asked: {
        call: 'refunds.list',
        payment_id: payment.providerPaymentId,
        operation_id: showId('op', identity.operationId),
      },
      answered: { listed: 2, refund_id: id, refund_status: 'succeeded', amount: 500 },
    })
  })

  test.each([
    [{ status: 'pending' }, { moved: true }],
    [{ status: 'pending', balance_transaction: null }, { moved: false }],
    [{ status: 'requires_action' }, { moved: true }],
    [{ status: 'canceled' }, { moved: true }],
    [
      { status: 'failed', failure_reason: 'lost_or_stolen_card' },
      { failure: { code: 'lost_or_stolen_card' } },
    ],
    [{ status: 'failed' }, { failure: { code: 'unknown' } }],
  ])('with %j is done, with its provider status', async (members, value) => {
    await plant(await lose(), members)

    const { status } = members
    expect(await find()).toMatchObject({ outcome: 'done', value: { status, ...value } })
  })

  test.each([
    { status: null },
    { amount: 501 },
    { currency: 'jpy' },
    { status: 'failed', amount: 501 },
    { metadata: { atomic_operation: identity.operationId } },
  ])('with %j is unknown', async (members) => {
    await plant(await lose(), members)

    expect((await find()).outcome).toBe('unknown')
  })

  test('with its refund id and another operation id is unknown, and never absent', async () => {
    const metadata = { atomic_operation: randomUUID(), atomic_refund: showRefundId(refund.id) }
    await plant(await lose(), { metadata })

    expect((await find()).outcome).toBe('unknown')
  })

  test('that exists twice is unknown, with the ids of both', async () => {
    const first = await lose()
    const again = await adapter.calls.refund.execute(
      { payment, refund },
      { ...identity, providerKey: 'another' },
    )

    expect(await find()).toMatchObject({
      outcome: 'unknown',
      answered: { listed: 2, found: [valueIn(again).providerRefundId, first] },
    })
  })

  test('is found on any page of the list', async () => {
    const id = await lose()
    const payment_intent = payment.providerPaymentId ?? ''
    await Promise.all(
      Array.from({ length: 110 }, () =>
        provider.stripe.refunds.create({ payment_intent, amount: 1 }),
      ),
    )

    expect(await find()).toMatchObject({
      value: { providerRefundId: id },
      answered: { listed: 111 },
    })
  })

  test('whose id at the provider is known is read by it', async () => {
    const id = await lose()

    expect(await find({ providerRefundId: id })).toMatchObject({
      outcome: 'done',
      value: { providerRefundId: id },
      asked: { call: 'refunds.retrieve', id },
    })
  })

  test.each([
    ['is not there', async () => 're_nobody'],
    [
      'is of another',
      async () => {
        const other = refundOf(payment, { id: randomUUID(), amountMinor: 1 })
        return valueIn(
          await adapter.calls.refund.execute({ payment, refund: other }, identityOf('started')),
        ).providerRefundId
      },
    ],
  ])('is searched in the list when its known id %s', async (_case, other) => {
    const providerRefundId = await other()

    expect((await find({ providerRefundId })).outcome).toBe('not_executed')
    const id = await lose()
    expect(await find({ providerRefundId })).toMatchObject({ value: { providerRefundId: id } })
  })
})
