// Tests events of the provider. Lost, repeated, reordered and early events lead to the same final
// state, and no event moves a payment backward.
import { randomUUID, randomUUIDv7 } from 'node:crypto'
import { describe, expect, test } from '@jest/globals'
import { showPaymentId, type Payment } from '../../src/domain/payments/payment.ts'
import { reminderOf, type ProviderEvent } from '../../src/domain/events/provider-event.ts'
import { applyProviderEvent } from '../../src/operations/apply-provider-event.ts'
import { runOperation } from '../../src/engine/run-phases.ts'
import { aroundCall, stripeOf, withoutRetries } from '../support/engine-doubles.ts'
import type { Accepted } from '../support/engine.ts'
import { eventsOf, postingsOf } from '../support/records.ts'
import { asked, captured, held } from './made-payments.ts'
import {
  deliver,
  eventAbout,
  runWaiting,
  applyAll,
  statusOf,
} from './follow-payment/provider-events.ts'
import { t } from '../support/own-engine.ts'

async function authenticate(intentId: string | null, outcome: 'succeed' | 'fail' = 'succeed') {
  await t.provider.control('POST', `/payment_intents/${intentId}/authenticate`, { outcome })
}

/** The calls that the provider executed for a payment, from its log. */
async function executed(paymentId: string): Promise<string[]> {
  return (await t.executedFor({ paymentId })).map(({ kind }) => kind)
}

const read = (paymentId: string) => t.readPayment({ tenantId: '', paymentId })

/** A payment that waits for its cardholder, here and at the provider. */
async function waiting(): Promise<Payment> {
  return await read((await asked(t)).paymentId)
}

async function expectChargedOnce(paymentId: string): Promise<void> {
  expect(await read(paymentId)).toMatchObject({
    status: 'succeeded',
    amountCapturedMinor: 1999,
  })
  expect(await executed(paymentId)).toEqual(['payment_intent.confirm', 'payment_intent.capture'])
  expect(await postingsOf(t.engine.store, showPaymentId(paymentId))).toHaveLength(1)
  const types = await eventsOf(t.engine.store, showPaymentId(paymentId))
  expect(types.filter((type) => type === 'payment.succeeded')).toHaveLength(1)
}

describe('one payment, its cardholder, and up to four events', () => {
  const types = [
    'payment_intent.created',
    'payment_intent.requires_action',
    'payment_intent.amount_capturable_updated',
    'payment_intent.succeeded',
  ]
  /** Each alone, the others being lost, and all of them in both orders. */
  const orders = [...types.map((type) => [type]), types, types.toReversed()]
  const early = ['before every event', 'after the first', 'after the last'] as const
  const cases = orders.flatMap((order) =>
    early
      .filter((when) => order.length > 1 || when !== 'after the last')
      .map((when) => ({ order, when })),
  )

  test.each(cases)(
    '$order, each twice, and the answer $when: charged once',
    async ({ order, when }) => {
      const ref = await t.accept({ paymentMethod: 'pm_card_threeDSecureRequired' })
      const intentId = await authorizeEarly(ref)
      await authenticate(intentId)
      const named = { ...ref, id: ref.paymentId, providerPaymentId: intentId }
      const events = order.map((type) => eventAbout(named, { type }))
      const answered = {
        'before every event': 0,
        'after the first': 1,
        'after the last': order.length,
      }

      for (const [index, event] of events.entries()) {
        if (index === answered[when]) await runOperation(t.engine, ref)
        await deliver(t.engine, event)
        if (index % 2 === 0) await runWaitingBut(ref)
        await deliver(t.engine, event)
      }
      const results = await applyAll(t, events)

      await expectChargedOnce(ref.paymentId)
      expect(results.filter((result) => result === 'applied')).toHaveLength(1)
      expect(results.filter((result) => result === 'ignored')).toHaveLength(order.length - 1)
    },
  )

  /** Like a worker that crashes before it records the answer: the provider is ahead of us. */
  async function authorizeEarly(ref: Accepted): Promise<string> {
    const identity = {
      providerKey: `atomic_${ref.id}_started`,
      operationId: ref.id,
      sendBeforeMs: Infinity,
    }
    const outcome = await stripeOf(t.engine).calls.authorize.execute(
      { payment: await t.readPayment(ref) },
      identity,
    )
    return (outcome as { value: { providerPaymentId: string } }).value.providerPaymentId
  }

  /** Runs the operations that events started, and leaves the API call without its answer. */
  async function runWaitingBut({ id: creation }: Accepted): Promise<void> {
    const { sql } = t.engine.store
    const refs = await sql<{ tenantId: string; id: string }[]>`
      select tenant_id as "tenantId", id from idempotency_keys
      where status = 'pending' and id <> ${creation}
    `
    for (const ref of refs) await runOperation(t.engine, ref)
  }
})

test('an event without a change is not visible to the merchant', async () => {
  const payment = await waiting()

  await deliver(t.engine, eventAbout(payment))

  expect(await eventsOf(t.engine.store, showPaymentId(payment.id))).toEqual([
    'payment.created',
    'payment.requires_action',
  ])
})

test('several events that are applied concurrently start one operation', async () => {
  const payment = await waiting()
  await authenticate(payment.providerPaymentId)
  const events = Array.from({ length: 5 }, () => eventAbout(payment))

  await Promise.all(events.flatMap((event) => [deliver(t.engine, event), deliver(t.engine, event)]))
  const results = await applyAll(t, events)

  expect(results.filter((result) => result === 'applied')).toHaveLength(1)
  await expectChargedOnce(payment.id)
})

test('the merchant sees the operation of an event neither by its key nor as an event', async () => {
  const payment = await waiting()
  await authenticate(payment.providerPaymentId)
  const event = eventAbout(payment)
  await deliver(t.engine, event)
  await applyAll(t, [event])

  const { sql } = t.engine.store
  const keys = await sql<{ key: string | null }[]>`
    select idempotency_key as key from events where payment_id = ${payment.id} and type = 'payment.succeeded'
  `
  expect(keys.map(({ key }) => key)).toEqual([null])
  expect(
    await sql`select key from idempotency_keys where operation = 'payment.follow' and payment_id = ${payment.id}`,
  ).toEqual([{ key: `§provider-event:${event.id}` }])
})

describe('the reminder of a payment that waits for its cardholder', () => {
  const reminderFor = (payment: Payment) => reminderOf(payment, payment.createdAt)

  test('is ignored when an event has arrived', async () => {
    const payment = await waiting()
    await authenticate(payment.providerPaymentId)
    const event = eventAbout(payment)
    await deliver(t.engine, event)
    await applyAll(t, [event])

    expect(await applyProviderEvent(t.engine, reminderFor(payment))).toBe('ignored')

    await expectChargedOnce(payment.id)
  })
})

describe('an event waits', () => {
  test('while another operation works on the payment, and is then ignored or applied', async () => {
    const payment = await waiting()
    const cancel = await t.acceptCancel({ tenantId: payment.tenantId, paymentId: payment.id })
    const event = eventAbout(payment)

    expect(await deliver(t.engine, event)).toBe('pending')
    await runOperation(t.engine, cancel)

    expect(await deliver(t.engine, event)).toBe('ignored')
    expect(await read(payment.id)).toMatchObject({ status: 'canceled' })
  })

  test('while the provider cannot be reached', async () => {
    const payment = await waiting()
    await authenticate(payment.providerPaymentId)
    await t.provider.addFault({ match: { method: 'GET' }, fault: 'unavailable' })
    const event = eventAbout(payment)

    expect(await deliver(t.engine, event)).toBe('pending')
    await applyAll(t, [event])

    await expectChargedOnce(payment.id)
  })

  test('while the operation that it started has failed, and retries it', async () => {
    const payment = await waiting()
    await authenticate(payment.providerPaymentId)
    const event = eventAbout(payment)
    await deliver(t.engine, event)
    const refused = { outcome: 'not_executed', reason: 'refused', asked: {}, answered: {} }
    const failing = withoutRetries(aroundCall(t.engine, 'capture', async () => refused))
    const ref = await t.findOperation({ payment_id: payment.id, operation: 'payment.follow' })
    expect(await runOperation(failing, ref)).toBe('gave_up')
    // The money is held, and the merchant may capture it by hand.
    expect(await read(payment.id)).toMatchObject({ status: 'requires_capture' })

    expect(await deliver(t.engine, event)).toBe('pending')
    await applyAll(t, [event])

    await expectChargedOnce(payment.id)
  })
})

describe('a payment that waits for its capture', () => {
  test('succeeds, and is posted, when someone else captured it at the provider', async () => {
    const { paymentId } = await held(t)
    const payment = await read(paymentId)
    const taken = { amount_to_capture: 700 }
    await t.provider.stripe.paymentIntents.capture(payment.providerPaymentId ?? '', taken)
    const event = eventAbout(payment, { type: 'payment_intent.succeeded' })

    await deliver(t.engine, event)
    await applyAll(t, [event])

    expect(await read(paymentId)).toMatchObject({ status: 'succeeded', amountCapturedMinor: 700 })
    expect(await postingsOf(t.engine.store, showPaymentId(paymentId))).toMatchObject([
      { kind: 'capture', amount: 700 },
    ])
  })

  test('does not change when the event reports a known state', async () => {
    const payment = await read((await held(t)).paymentId)

    expect(await deliver(t.engine, eventAbout(payment))).toBe('ignored')
    expect(await read(payment.id)).toMatchObject({ status: 'requires_capture' })
  })
})

test('an event never changes a final payment', async () => {
  const payment = await read((await captured(t)).paymentId)
  const late = eventAbout(payment, { type: 'payment_intent.requires_action' })

  expect(await deliver(t.engine, late)).toBe('ignored')
  expect(await read(payment.id)).toMatchObject({ status: 'succeeded' })
})

describe('an event without a matching payment', () => {
  const stranger = { tenantId: randomUUID(), id: randomUUIDv7(), providerPaymentId: 'pi_stranger' }

  test.each<[string, () => Promise<ProviderEvent>, string]>([
    ['about an unknown payment is kept', async () => eventAbout(stranger), 'unmatched'],
    [
      'about an intent that names no payment of ours is kept',
      async () => eventAbout(stranger, { subject: null }),
      'unmatched',
    ],
    [
      'about another intent of a payment of ours is kept: it may be a second charge',
      async () => eventAbout(await waiting(), { providerPaymentId: 'pi_second' }),
      'unmatched',
    ],
    [
      'that names the payment of another tenant is kept',
      async () =>
        eventAbout(await waiting(), {
          subject: { tenantId: randomUUID(), paymentId: (await waiting()).id },
        }),
      'unmatched',
    ],
    [
      'about no payment at all is ignored',
      async () => eventAbout(stranger, { type: 'balance.available', providerPaymentId: null }),
      'ignored',
    ],
  ])('%s', async (_title, makeEvent, expected) => {
    const event = await makeEvent()

    expect(await deliver(t.engine, event)).toBe(expected)
    expect(await statusOf(t.engine, event)).toBe(expected)
    await runWaiting(t)
  })
})
