// Tests uncaptured holds: the payment shows when they end, their end is announced once,
// and the payment ends as canceled when the provider has released the money.
import { describe, expect, test } from '@jest/globals'
import { randomUUIDv7 } from 'node:crypto'
import { inTransaction } from '../../../src/db/connection/transaction.ts'
import { createTenant } from '../../../src/db/tenants/tenants.ts'
import { insertEndpoint } from '../../../src/db/webhooks/webhook-endpoints.ts'
import { AUTHORIZATION_EXPIRING } from '../../../src/domain/events/event-types.ts'
import {
  presentPayment,
  showPaymentId,
  type Payment,
} from '../../../src/domain/payments/payment.ts'
import { applyProviderEvent } from '../../../src/operations/apply-provider-event.ts'
import { runOperation } from '../../../src/engine/run-phases.ts'
import { resolveDue } from '../../../src/recovery/outcome-resolver.ts'
import { watchHolds } from '../../../src/recovery/expiring-holds.ts'
import { aroundCall, stripeOf, withoutRetries, withProvider } from '../../support/engine-doubles.ts'
import type { Accepted } from '../../support/engine.ts'
import { eventsOf } from '../../support/records.ts'
import { asked, held } from '../made-payments.ts'
import { applyAll, deliver, eventAbout, runWaiting } from './provider-events.ts'
import { t } from '../../support/own-engine.ts'

const DAY = 86_400
const MATCH_CAPTURE = { path: '/v1/payment_intents/*/capture' }

const refOf = ({ tenantId, id: paymentId }: Payment) => ({ tenantId, paymentId })
const read = (payment: Payment) => t.readPayment(refOf(payment))
const watch = () => watchHolds(t.engine, { AUTHORIZATION_NOTICE_SECONDS: DAY })

const newHold = async () => await t.readPayment(await held(t))

/** A hold that ends in so many seconds, for the provider and for us. */
async function holdEnding(seconds: number): Promise<Payment> {
  const payment = await newHold()
  await endIn(payment, seconds)
  return await read(payment)
}

async function endIn({ id, providerPaymentId }: Payment, seconds: number): Promise<void> {
  const route = `/payment_intents/${providerPaymentId}/hold`
  const { capture_before: at } = await t.provider.control<{ capture_before: number }>(
    'POST',
    route,
    { ends_in_seconds: seconds },
  )
  await t.engine.store.sql`
    update payments set capture_before = to_timestamp(${at}) where id = ${id}
  `
}

/** The provider releases the money. */
const expireAtProvider = ({ providerPaymentId }: Payment, reason = 'automatic') =>
  t.provider.control('POST', `/payment_intents/${providerPaymentId}/expire`, { reason })

const announcements = async ({ id }: Payment) =>
  (await eventsOf(t.engine.store, showPaymentId(id))).filter(
    (type) => type === AUTHORIZATION_EXPIRING,
  )

/** The internal event that makes a worker look, once it is stored. */
async function lookOf({ id }: Payment) {
  const [event] = await t.engine.store.sql<{ provider: string; id: string }[]>`
    select provider, id from provider_events where payment_id = ${id} and type = 'expiry'
  `
  return event
}

async function look(payment: Payment) {
  const event = await lookOf(payment)
  if (event === undefined) throw new Error('no worker has to look')
  return await applyProviderEvent(t.engine, event)
}

const executedKinds = async (payment: Payment) =>
  (await t.executedFor(refOf(payment))).map(({ kind }) => kind)

const answerOf = async (ref: Accepted) => {
  const { response_status: status, response_body: body } = await t.readKey(ref)
  return { status, body: JSON.parse(String(body)) as Record<string, unknown> }
}

describe('capture_before', () => {
  const inDays = ({ captureBefore, createdAt }: Payment) =>
    ((captureBefore?.getTime() ?? 0) - createdAt.getTime()) / DAY / 1_000

  test('is kept and shown from the authorization on', async () => {
    const payment = await newHold()

    expect(inDays(payment)).toBeCloseTo(7, 3)
    expect(presentPayment(payment)).toMatchObject({
      status: 'requires_capture',
      capture_before: payment.captureBefore?.toISOString(),
    })
  })

  test('is known after 3-D Secure', async () => {
    const ref = await t.accept({
      captureMethod: 'manual',
      paymentMethod: 'pm_card_threeDSecureRequired',
    })
    await runOperation(t.engine, ref)
    const payment = await t.readPayment(ref)
    expect(payment.captureBefore).toBeNull()
    const route = `/payment_intents/${payment.providerPaymentId}/authenticate`
    await t.provider.control('POST', route, { outcome: 'succeed' })

    const event = eventAbout(payment)
    await deliver(t.engine, event)
    await applyAll(t, [event])

    expect(await read(payment)).toMatchObject({ status: 'requires_capture' })
    expect(inDays(await read(payment))).toBeCloseTo(7, 3)
  })

  test('is known when the answer of the authorization was lost', async () => {
    await t.provider.addFault({
      match: { method: 'POST', path: '/v1/payment_intents' },
      fault: 'reset_after',
    })
    const ref = await t.accept({ captureMethod: 'manual' })
    expect(await runOperation(withoutRetries(t.engine), ref)).toMatch(/finished|gave_up/)
    await t.letTimePass(ref, 90)
    await resolveDue(t.engine)

    expect(inDays(await t.readPayment(ref))).toBeCloseTo(7, 3)
  })

  test('stays null when the provider does not say it', async () => {
    const provider = stripeOf(t.engine)
    const { authorize } = provider.calls
    const silent = withProvider(t.engine, {
      ...provider,
      calls: {
        ...provider.calls,
        authorize: {
          ...authorize,
          execute: async (...call: Parameters<typeof authorize.execute>) => {
            const outcome = await authorize.execute(...call)
            return outcome.outcome === 'done' && outcome.value.status === 'held'
              ? { ...outcome, value: { ...outcome.value, captureBefore: null } }
              : outcome
          },
        },
      },
    })
    const ref = await t.accept({ captureMethod: 'manual' })
    await runOperation(silent, ref)

    expect(await t.readPayment(ref)).toMatchObject({
      status: 'requires_capture',
      captureBefore: null,
    })
    await watch()
    expect(await announcements(await t.readPayment(ref))).toEqual([])
  })

  test('is what the provider says after an adjustment', async () => {
    const payment = await newHold()
    await t.provider.control('POST', `/payment_intents/${payment.providerPaymentId}/hold`, {
      ends_in_seconds: 10 * DAY,
    })

    await runOperation(t.engine, await t.begin('payment.adjust', refOf(payment), { amount: 2499 }))

    expect(inDays(await read(payment))).toBeCloseTo(10, 3)
  })
})

describe('the end of a hold is announced', () => {
  test('once, with the payment as it is, and without changing it', async () => {
    const payment = await holdEnding(DAY - 60)

    expect(await watch()).toMatchObject({ announced: 1, looked_at: 0 })
    expect(await watch()).toMatchObject({ announced: 0, looked_at: 0 })

    expect(await announcements(payment)).toEqual([AUTHORIZATION_EXPIRING])
    expect(await read(payment)).toEqual(payment)
    const [event] = await t.engine.store.sql<{ object: object; idempotency_key: null }[]>`
      select object, idempotency_key from events
      where payment_id = ${payment.id} and type = ${AUTHORIZATION_EXPIRING}
    `
    expect(event).toMatchObject({
      object: { id: payment.id, status: 'requires_capture' },
      idempotency_key: null,
    })
  })

  test('to the webhook endpoints of its tenant that want it', async () => {
    const { store } = t.engine
    const stranger = await createTenant(store, { name: 'other', apiKey: 'sk_test_other' })
    const endpointOf = async (tenantId: string, type: string) => {
      const id = randomUUIDv7()
      const endpoint = { tenantId, id, url: 'https://example.com/', eventTypes: [type] }
      await inTransaction(store.sql, (tx) =>
        insertEndpoint(tx, { ...endpoint, description: null, secret: 'whsec_1' }),
      )
      return id
    }
    const wanting = await endpointOf(t.tenantId, AUTHORIZATION_EXPIRING)
    await endpointOf(t.tenantId, 'payment.succeeded')
    await endpointOf(stranger, AUTHORIZATION_EXPIRING)
    await holdEnding(60)

    await watch()

    const deliveries = await store.sql`
      select events.tenant_id, webhook_deliveries.endpoint_id from webhook_deliveries
      join events on events.tenant_id = webhook_deliveries.tenant_id and events.id = event_id
      where events.type = ${AUTHORIZATION_EXPIRING}
    `
    expect(deliveries).toEqual([{ tenant_id: t.tenantId, endpoint_id: wanting }])
  })

  test('once by several workers at the same time', async () => {
    const payments = [await holdEnding(60), await holdEnding(90)]

    await Promise.all(Array.from({ length: 6 }, watch))

    for (const payment of payments) expect(await announcements(payment)).toHaveLength(1)
  })

  test('not before its time', async () => {
    const payment = await holdEnding(DAY + 60)

    await watch()

    expect(await announcements(payment)).toEqual([])
  })

  test('again when an adjustment has moved it', async () => {
    const payment = await holdEnding(60)
    await watch()
    await t.provider.control('POST', `/payment_intents/${payment.providerPaymentId}/hold`, {
      ends_in_seconds: 600,
    })
    await runOperation(t.engine, await t.begin('payment.adjust', refOf(payment), { amount: 2499 }))
    await watch()
    await runOperation(t.engine, await t.begin('payment.adjust', refOf(payment), { amount: 2999 }))
    await watch()

    expect(await announcements(payment)).toHaveLength(2)
  })

  test('not again after a refused capture', async () => {
    const payment = await holdEnding(60)
    await watch()
    await t.provider.addFault({ match: MATCH_CAPTURE, fault: 'rate_limited', times: 9 })
    const ref = await t.acceptCapture(refOf(payment))
    expect(await runOperation(withoutRetries(t.engine), ref)).toBe('gave_up')
    expect(await read(payment)).toMatchObject({ status: 'requires_capture' })

    await watch()

    expect(await announcements(payment)).toHaveLength(1)
  })

  test('also of a payment with automatic capture whose capture was given up', async () => {
    await t.provider.addFault({ match: MATCH_CAPTURE, fault: 'rate_limited', times: 9 })
    const ref = await t.accept()
    expect(await runOperation(withoutRetries(t.engine), ref)).toBe('gave_up')
    const payment = await t.readPayment(ref)
    expect(payment).toMatchObject({ status: 'requires_capture', captureBefore: expect.any(Date) })
    await endIn(payment, 60)

    await watch()

    expect(await announcements(payment)).toHaveLength(1)
  })

  test('not of a payment that was captured or canceled, nor while an operation works on it', async () => {
    const [captured, canceled, busy] = [
      await holdEnding(60),
      await holdEnding(60),
      await holdEnding(60),
    ]
    await runOperation(t.engine, await t.acceptCapture(refOf(captured)))
    await runOperation(t.engine, await t.acceptCancel(refOf(canceled)))
    const capture = await t.acceptCapture(refOf(busy), 1000)

    await watch()

    for (const payment of [captured, canceled, busy]) {
      expect(await announcements(payment)).toEqual([])
    }
    await runOperation(t.engine, capture)
  })

  test('not when it is over already', async () => {
    const payment = await holdEnding(-30)

    await watch()

    expect(await announcements(payment)).toEqual([])
    expect(await lookOf(payment)).toBeDefined()
  })
})

describe('a hold that has ended', () => {
  test.each(['automatic', 'expired'] as const)(
    'ends the payment as canceled with the reason %s, when an event tells of it',
    async (reason) => {
      const payment = await newHold()
      await expireAtProvider(payment, reason)

      const event = eventAbout(payment, { type: 'payment_intent.canceled' })
      await deliver(t.engine, event)
      expect(await applyAll(t, [event])).toEqual(['applied'])

      expect(await read(payment)).toMatchObject({
        status: 'canceled',
        cancellationReason: reason,
        failure: null,
        amountCapturedMinor: 0,
      })
      expect((await eventsOf(t.engine.store, showPaymentId(payment.id))).slice(-2)).toEqual([
        'payment.processing',
        'payment.canceled',
      ])
    },
  )

  test('ends the payment although every event was lost', async () => {
    const payment = await holdEnding(-120)

    expect(await watch()).toMatchObject({ looked_at: 1 })
    expect(await look(payment)).toBe('pending')
    await runWaiting(t)
    expect(await look(payment)).toBe('applied')

    expect(await read(payment)).toMatchObject({
      status: 'canceled',
      cancellationReason: 'automatic',
    })
    expect(await executedKinds(payment)).toEqual(['payment_intent.create', 'payment_intent.cancel'])
  })

  test('is looked at until the provider has released the money', async () => {
    const payment = await holdEnding(-30)
    await watch()

    expect(await look(payment)).toBe('pending')
    expect(await read(payment)).toMatchObject({ status: 'requires_capture' })

    await expireAtProvider(payment)
    expect(await look(payment)).toBe('pending')
    await runWaiting(t)
    expect(await look(payment)).toBe('applied')
    expect(await read(payment)).toMatchObject({ status: 'canceled' })
  })

  test('is looked at by a job of the queue of reminders', async () => {
    const payment = await holdEnding(-30)

    await watch()
    await watch()

    const { id } = (await lookOf(payment)) ?? { id: '' }
    const jobs = await t.engine.store.sql`
      select from atomic_jobs.job where name = 'reminders' and data ->> 'eventId' = ${id}
    `
    expect(jobs).toHaveLength(1)
  })

  test('is canceled by its client as expired', async () => {
    const payment = await newHold()
    await expireAtProvider(payment)

    const ref = await t.acceptCancel(refOf(payment), 'requested_by_customer')
    await runOperation(t.engine, ref)

    expect(await answerOf(ref)).toMatchObject({
      status: 200,
      body: { status: 'canceled', cancellation_reason: 'automatic' },
    })
  })
})

describe('a capture', () => {
  const expired = {
    status: 402,
    body: { type: '/problems/authorization-expired', payment: { status: 'canceled' } },
  }

  test.each([
    ['before the provider has canceled the payment', -30, 'charge_expired_for_capture', 'expired'],
    ['afterwards', -120, 'payment_intent_unexpected_state', 'automatic'],
  ])('after the end of the hold, %s, ends the payment', async (_, seconds, code, reason) => {
    const payment = await holdEnding(seconds)

    const ref = await t.acceptCapture(refOf(payment))
    await runOperation(t.engine, ref)

    expect(await answerOf(ref)).toMatchObject(expired)
    expect(await answerOf(ref)).toMatchObject({
      body: { error: { code }, payment: { cancellation_reason: reason } },
    })
    expect(await executedKinds(payment)).not.toContain('payment_intent.capture')
    await watch()
    expect(await lookOf(payment)).toBeUndefined()
  })

  test('that the expiry overtakes on its way ends the payment', async () => {
    const payment = await newHold()
    const racing = aroundCall(t.engine, 'capture', async (original) => {
      await expireAtProvider(payment)
      return await original()
    })
    const ref = await t.acceptCapture(refOf(payment))
    const event = eventAbout(payment, { type: 'charge.expired' })
    expect(await deliver(t.engine, event)).toBe('pending')

    await runOperation(racing, ref)

    expect(await answerOf(ref)).toMatchObject(expired)
    expect(await applyProviderEvent(t.engine, event)).toBe('ignored')
  })

  test('whose answer was lost before the expiry stays a capture', async () => {
    const payment = await holdEnding(60)
    await t.provider.addFault({ match: MATCH_CAPTURE, fault: 'reset_after', times: 3 })
    const ref = await t.acceptCapture(refOf(payment))
    await runOperation(withoutRetries(t.engine), ref)
    await t.engine.store.sql`
      update payments set capture_before = now() - interval '1 hour' where id = ${payment.id}
    `
    await watch()

    await t.letTimePass(ref, 90)
    await resolveDue(t.engine)

    expect(await read(payment)).toMatchObject({ status: 'succeeded', amountCapturedMinor: 1999 })
    expect((await executedKinds(payment)).filter((kind) => kind.endsWith('capture'))).toHaveLength(
      1,
    )
    await watch()
    expect(await lookOf(payment)).toBeUndefined()
  })

  test('that was lost, and overtaken by the expiry, is not repeated', async () => {
    const payment = await newHold()
    await t.provider.addFault({ match: MATCH_CAPTURE, fault: 'reset_before', times: 3 })
    const ref = await t.acceptCapture(refOf(payment))
    await runOperation(withoutRetries(t.engine), ref)
    await expireAtProvider(payment)

    await t.letTimePass(ref, 90)
    await resolveDue(t.engine)

    expect(await read(payment)).toMatchObject({ status: 'canceled' })
    expect(await answerOf(ref)).toMatchObject(expired)
  })
})

test('an adjustment after the end of the hold ends the payment', async () => {
  const payment = await newHold()
  await expireAtProvider(payment)

  const ref = await t.begin('payment.adjust', refOf(payment), { amount: 2499 })
  await runOperation(t.engine, ref)

  expect(await answerOf(ref)).toMatchObject({
    status: 402,
    body: { type: '/problems/authorization-expired' },
  })
  expect(await read(payment)).toMatchObject({ status: 'canceled', amountMinor: 1999 })
})

test('a payment that waits for its cardholder has no hold to announce', async () => {
  const payment = await t.readPayment(await asked(t))

  await watch()

  expect(payment.captureBefore).toBeNull()
  expect(await announcements(payment)).toEqual([])
})
