// Tests disputes and early fraud warnings, with the official client. Each test is named after a fact of
// Stripe's documentation.
import { describe, expect, test } from '@jest/globals'
import type { Stripe } from 'stripe'
import { payment } from '../running-provider.ts'
import { ownProvider } from '../../../support/own-provider.ts'

// No process listens there: the events stay in the outbox.
const provider = ownProvider({ webhookUrl: 'http://127.0.0.1:9/' })

const AMOUNT = 1_000
const FEE = 1_500

const pay = (payment_method = 'pm_card_visa') =>
  provider.stripe.paymentIntents.create(payment({ payment_method, metadata: { order: '1' } }))

async function disputeOf({ id: payment_intent }: Stripe.PaymentIntent): Promise<Stripe.Dispute> {
  const { data } = await provider.stripe.disputes.list({ payment_intent })
  if (data[0] === undefined) throw new Error('there is no dispute')
  return data[0]
}

const open = (payment_intent: string, terms: object = {}) =>
  provider.control<Stripe.Dispute>('POST', '/disputes', { payment_intent, ...terms })

const move = ({ id }: Stripe.Dispute, step: object) =>
  provider.control<Stripe.Dispute>('POST', `/disputes/${id}`, step)

/** The movements that disputes caused, oldest first. */
async function movements() {
  const { data } = await provider.stripe.balanceTransactions.list({ type: 'adjustment' })
  return data
    .toReversed()
    .map(({ reporting_category, amount, fee, net }) => [reporting_category, amount, fee, net])
}

/** The types of the events of disputes and warnings, in order. */
async function events() {
  const { data } = await provider.control<{ data: { type: string }[] }>('GET', '/webhooks')
  return data.map(({ type }) => type).filter((type) => /dispute|radar/.test(type))
}

const withdrawal = ['dispute', -AMOUNT, FEE, -AMOUNT - FEE]
const reinstatement = ['dispute_reversal', AMOUNT, 0, AMOUNT]

describe('a dispute', () => {
  test.each([
    ['pm_card_createDispute', 'fraudulent'],
    ['pm_card_createDisputeProductNotReceived', 'product_not_received'],
  ])('of %s takes its amount and a fee at once, for the reason %s', async (card, reason) => {
    const paid = await pay(card)

    expect(paid.status).toBe('succeeded')
    expect(await disputeOf(paid)).toMatchObject({
      object: 'dispute',
      id: expect.stringMatching(/^du_/),
      amount: AMOUNT,
      currency: 'eur',
      charge: paid.latest_charge,
      payment_intent: paid.id,
      reason,
      status: 'needs_response',
      is_charge_refundable: false,
      balance_transactions: [{ type: 'adjustment', reporting_category: 'dispute', fee: FEE }],
    })
    expect(await movements()).toEqual([withdrawal])
    expect(await events()).toEqual(['charge.dispute.created', 'charge.dispute.funds_withdrawn'])
  })

  test('has metadata of its own, not that of the intent', async () => {
    const paid = await pay('pm_card_createDispute')

    expect((await disputeOf(paid)).metadata).toEqual({})
  })

  test('that is won gives its amount back, and keeps the fee', async () => {
    const dispute = await disputeOf(await pay('pm_card_createDispute'))

    expect(await move(dispute, { status: 'won' })).toMatchObject({
      status: 'won',
      is_charge_refundable: true,
    })

    expect(await movements()).toEqual([withdrawal, reinstatement])
    expect((await events()).slice(2)).toEqual([
      'charge.dispute.updated',
      'charge.dispute.funds_reinstated',
      'charge.dispute.closed',
    ])
  })

  test('that is lost moves nothing more, and rarely turns won', async () => {
    const dispute = await disputeOf(await pay('pm_card_createDispute'))
    await move(dispute, { status: 'under_review' })
    await move(dispute, { status: 'lost' })
    expect(await movements()).toEqual([withdrawal])

    await move(dispute, { status: 'won' })

    expect(await movements()).toEqual([withdrawal, reinstatement])
    await expect(move(dispute, { status: 'lost' })).rejects.toThrow('cannot become lost')
  })

  test('is not the only one that a charge can have', async () => {
    const { latest_charge } = await pay('pm_card_createMultipleDisputes')

    const { data } = await provider.stripe.disputes.list({ charge: latest_charge as string })

    expect(data.map(({ amount }) => amount)).toEqual([500, 500])
  })
})

describe('a refund', () => {
  test('of a disputed charge is refused', async () => {
    const { id } = await pay('pm_card_createDispute')

    const attempt = provider.stripe.refunds.create({ payment_intent: id })

    await expect(attempt).rejects.toMatchObject({ statusCode: 400, code: 'charge_disputed' })
  })

  test('that is pending fails when its charge is disputed', async () => {
    const paid = await pay('pm_card_pendingRefund')
    const { id } = await provider.stripe.refunds.create({ payment_intent: paid.id, amount: 100 })

    await open(paid.id)

    expect(await provider.stripe.refunds.retrieve(id)).toMatchObject({
      status: 'failed',
      failure_reason: 'charge_for_pending_refund_disputed',
    })
  })
})

describe('an inquiry', () => {
  test('ends when its charge is refunded in full', async () => {
    const paid = await pay('pm_card_createDisputeInquiry')
    const refund = (amount: number) =>
      provider.stripe.refunds.create({ payment_intent: paid.id, amount })

    await refund(AMOUNT - 1)
    expect(await disputeOf(paid)).toMatchObject({ status: 'warning_needs_response' })
    await refund(1)

    expect(await disputeOf(paid)).toMatchObject({ status: 'warning_closed' })
    expect(await movements()).toEqual([])
    expect((await events()).slice(1)).toEqual(['charge.dispute.updated', 'charge.dispute.closed'])
  })

  test('that becomes a dispute takes the money then', async () => {
    const inquiry = await disputeOf(await pay('pm_card_createDisputeInquiry'))

    expect(await move(inquiry, { status: 'needs_response' })).toMatchObject({
      is_charge_refundable: false,
    })

    expect(await movements()).toEqual([withdrawal])
    expect((await events()).slice(1)).toEqual([
      'charge.dispute.updated',
      'charge.dispute.funds_withdrawn',
    ])
  })
})

describe('an early fraud warning', () => {
  test('moves no money, and names the charge', async () => {
    const paid = await pay('pm_card_createIssuerFraudRecord')

    const { data } = await provider.stripe.radar.earlyFraudWarnings.list({
      payment_intent: paid.id,
    })

    expect(data).toEqual([
      expect.objectContaining({
        id: expect.stringMatching(/^issfr_/),
        actionable: true,
        charge: paid.latest_charge,
      }),
    ])
    expect(await movements()).toEqual([])
    expect(await events()).toEqual(['radar.early_fraud_warning.created'])
  })

  test.each([
    ['disputed', (id: string) => open(id)],
    ['refunded', (id: string) => provider.stripe.refunds.create({ payment_intent: id })],
  ])('is not actionable once the charge is %s', async (_, end) => {
    const { id } = await pay('pm_card_createIssuerFraudRecord')
    const [warning] = (await provider.stripe.radar.earlyFraudWarnings.list()).data

    await end(id)

    const found = await provider.stripe.radar.earlyFraudWarnings.retrieve(warning?.id ?? '')
    expect(found.actionable).toBe(false)
    expect(await events()).toContain('radar.early_fraud_warning.updated')
  })
})
