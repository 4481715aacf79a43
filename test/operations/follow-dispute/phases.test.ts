// Tests disputes: what they take and give back is posted once. Lost, repeated and reordered events lead
// to the same state.
import { describe, expect, test } from '@jest/globals'
import { runOperation } from '../../../src/engine/run-phases.ts'
import { applyProviderEvent } from '../../../src/operations/apply-provider-event.ts'
import { applyAll, deliver, eventAbout, runWaiting } from '../follow-payment/provider-events.ts'
import { AMOUNT_MINOR } from '../amount.ts'
import { deliverOf, disputed, FEE, move, paid, stateOf } from './disputes.ts'
import { stripeOf, withProvider } from '../../support/engine-doubles.ts'
import { t } from '../../support/own-engine.ts'

const withdrawal = [`dispute disputes ${AMOUNT_MINOR}`, `provider_fee provider_fees ${FEE}`]
const reinstatement = `dispute_reversal provider_receivable ${AMOUNT_MINOR}`

const opened = {
  disputes: ['needs_response'],
  ledger: withdrawal,
  events: ['dispute.created', 'dispute.funds_withdrawn'],
}

test('a dispute posts its amount and its fee', async () => {
  const dispute = await disputed(t)

  expect(await applyAll(t, [await deliverOf(t, dispute)])).toEqual(['applied'])

  expect(await stateOf(t, dispute.payment)).toEqual(opened)
})

test('an event reads its dispute once, however often it waits for its operation', async () => {
  const reads: string[] = []
  const provider = stripeOf(t.engine)
  const readDispute = async (id: string) => {
    reads.push(id)
    return await provider.readDispute(id)
  }
  const engine = withProvider(t.engine, { ...provider, readDispute })
  const dispute = await disputed(t)
  const event = await deliverOf({ ...t, engine }, dispute)

  const waiting = await Promise.all([1, 2, 3].map(() => applyProviderEvent(engine, event)))
  await runWaiting(t)

  expect([...waiting, await applyProviderEvent(engine, event)]).toEqual([
    'pending',
    'pending',
    'pending',
    'applied',
  ])
  expect(reads).toEqual([dispute.objectId])
})

test.each(['won', 'lost'])('a dispute that is %s is closed', async (status) => {
  const dispute = await disputed(t)
  await applyAll(t, [await deliverOf(t, dispute)])
  await move(t, dispute, { status })

  await applyAll(t, [await deliverOf(t, dispute)])

  const { disputes, ledger, events } = await stateOf(t, dispute.payment)
  expect(disputes).toEqual([status])
  expect(ledger).toEqual(status === 'won' ? [...withdrawal, reinstatement].toSorted() : withdrawal)
  expect(events).toEqual(expect.arrayContaining(['dispute.updated', 'dispute.closed']))
  expect(events.includes('dispute.funds_reinstated')).toBe(status === 'won')
})

test('a lost dispute that turns won gives its amount back', async () => {
  const dispute = await disputed(t)
  for (const status of ['lost', 'won']) {
    await move(t, dispute, { status })
    await applyAll(t, [await deliverOf(t, dispute)])
  }

  expect(await stateOf(t, dispute.payment)).toMatchObject({
    disputes: ['won'],
    ledger: [...withdrawal, reinstatement].toSorted(),
  })
})

test('a fee that comes back is posted', async () => {
  const dispute = await disputed(t)
  await applyAll(t, [await deliverOf(t, dispute)])
  await move(t, dispute, { status: 'won', returns_fee: true })

  await applyAll(t, [await deliverOf(t, dispute)])

  expect((await stateOf(t, dispute.payment)).ledger).toContain(
    `provider_fee provider_receivable ${FEE}`,
  )
})

test('an inquiry posts nothing until it becomes a dispute', async () => {
  const inquiry = await disputed(t, 'pm_card_createDisputeInquiry')
  await applyAll(t, [await deliverOf(t, inquiry)])
  expect(await stateOf(t, inquiry.payment)).toEqual({
    disputes: ['warning_needs_response'],
    ledger: [],
    events: ['dispute.created'],
  })
  await move(t, inquiry, { status: 'needs_response' })

  await applyAll(t, [await deliverOf(t, inquiry)])

  expect(await stateOf(t, inquiry.payment)).toMatchObject({
    disputes: ['needs_response'],
    ledger: withdrawal,
  })
})

test('several disputes of a payment are posted each', async () => {
  const { payment } = await disputed(t, 'pm_card_createMultipleDisputes')
  const { providerPaymentId } = await t.readPayment(payment)
  const list = { payment_intent: providerPaymentId ?? '' }
  const { data } = await t.provider.stripe.disputes.list(list)
  const events = []
  for (const { id } of data) events.push(await deliverOf(t, { payment, objectId: id }))

  await applyAll(t, events)

  const { disputes, ledger } = await stateOf(t, payment)
  expect(disputes).toEqual(['needs_response', 'needs_response'])
  expect(ledger).toHaveLength(4)
})

test('a dispute of another amount than the charge posts its own amount', async () => {
  const payment = await paid(t)
  const { providerPaymentId: payment_intent } = await t.readPayment(payment)
  const amount = AMOUNT_MINOR + 7
  const { id: objectId } = await t.provider.control<{ id: string }>('POST', '/disputes', {
    payment_intent,
    amount,
  })

  await applyAll(t, [await deliverOf(t, { payment, objectId })])

  expect((await stateOf(t, payment)).ledger).toContain(`dispute disputes ${amount}`)
})

describe('however its events come', () => {
  const types = ['created', 'funds_withdrawn', 'updated', 'funds_reinstated', 'closed']

  test('repeated, in another order, and late, each movement is posted once', async () => {
    const dispute = await disputed(t)
    await move(t, dispute, { status: 'won' })
    const events = []
    for (const type of types.toReversed()) {
      events.push(await deliverOf(t, dispute, `charge.dispute.${type}`))
    }

    await applyAll(t, [...events, ...events.toReversed()])

    const { disputes, ledger, events: sent } = await stateOf(t, dispute.payment)
    expect(disputes).toEqual(['won'])
    expect(ledger).toEqual([...withdrawal, reinstatement].toSorted())
    expect(sent.toSorted()).toEqual([
      'dispute.closed',
      'dispute.created',
      'dispute.funds_reinstated',
      'dispute.funds_withdrawn',
      'dispute.updated',
    ])
  })

  const following = () => t.engine.store.sql<{ tenantId: string; id: string }[]>`
    select tenant_id as "tenantId", id from idempotency_keys
    where operation = 'dispute.follow' and status = 'pending'
  `

  test('two events of one change start one operation, and the second waits for it', async () => {
    const dispute = await disputed(t)
    const events = [await deliverOf(t, dispute)]
    events.push(await deliverOf(t, dispute, 'charge.dispute.funds_withdrawn'))
    expect(await following()).toHaveLength(1)

    expect(await applyAll(t, events)).toEqual(['applied', 'ignored'])

    expect(await stateOf(t, dispute.payment)).toEqual(opened)
  })

  test('concurrent operations of two events post its money once', async () => {
    const dispute = await disputed(t)
    const { sql } = t.engine.store
    const events = [await deliverOf(t, dispute)]
    // Neither event saw the operation of the other.
    await sql`update idempotency_keys set status = 'failed_retryable' where status = 'pending'`
    events.push(await deliverOf(t, dispute, 'charge.dispute.funds_withdrawn'))
    await sql`
      update idempotency_keys set status = 'pending'
      where operation = 'dispute.follow' and status = 'failed_retryable'
    `
    const running = await following()
    expect(running).toHaveLength(2)

    await Promise.allSettled(running.map((ref) => runOperation(t.engine, ref)))
    for (const ref of running) await t.expireLease(ref)
    await Promise.allSettled(running.map((ref) => runOperation(t.engine, ref)))
    await applyAll(t, events)

    expect(await stateOf(t, dispute.payment)).toEqual(opened)
  })
})

test('a dispute of a charge that is not ours is kept for the reconciliation', async () => {
  const stranger = await t.provider.stripe.paymentIntents.create({
    amount: 1_000,
    currency: 'usd',
    confirm: true,
    return_url: 'https://example.com/',
    payment_method: 'pm_card_createDispute',
  })
  const { data } = await t.provider.stripe.disputes.list({ payment_intent: stranger.id })
  const named = { tenantId: t.tenantId, id: t.tenantId, providerPaymentId: stranger.id }
  const about = { about: 'dispute', objectId: data[0]?.id ?? '', subject: null } as const

  expect(await deliver(t.engine, eventAbout(named, about))).toBe('unmatched')
})

describe('an early fraud warning', () => {
  async function warned() {
    const payment = await paid(t, 'pm_card_createIssuerFraudRecord')
    const { providerPaymentId } = await t.readPayment(payment)
    const list = { payment_intent: providerPaymentId ?? '' }
    const { data } = await t.provider.stripe.radar.earlyFraudWarnings.list(list)
    const named = { ...(await t.readPayment(payment)), tenantId: payment.tenantId }
    const about = 'early_fraud_warning'
    return () => eventAbout(named, { about, objectId: data[0]?.id ?? '', subject: null })
  }

  const announced = async () =>
    await t.engine.store.sql`select from events where type = 'payment.early_fraud_warning'`

  test('is announced once, however many events tell of it', async () => {
    const eventOf = await warned()

    const [first, second] = [await deliver(t.engine, eventOf()), await deliver(t.engine, eventOf())]

    expect([first, second]).toEqual(['applied', 'ignored'])
    expect(await announced()).toHaveLength(1)
  })
})
