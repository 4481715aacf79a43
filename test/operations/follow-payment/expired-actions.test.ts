// Tests payments whose cardholder never finishes 3-D Secure: the service cancels them in time, and
// a cardholder who acts at that moment wins or loses, but never both.
import { describe, expect, test } from '@jest/globals'
import { listDeadLetters } from '../../../src/recovery/dead-letters.ts'
import { keyOfExpiry, reminderOf } from '../../../src/domain/events/provider-event.ts'
import { showPaymentId, type Payment } from '../../../src/domain/payments/payment.ts'
import { applyProviderEvent } from '../../../src/operations/apply-provider-event.ts'
import { StaleResourceError } from '../../../src/db/payments/payments.ts'
import { reopenOperation } from '../../../src/engine/reopen-or-cancel.ts'
import { runOperation } from '../../../src/engine/run-phases.ts'
import { resolveDue } from '../../../src/recovery/outcome-resolver.ts'
import { aroundCall, giveUp } from '../../support/engine-doubles.ts'
import { eventsOf } from '../../support/records.ts'
import { asked } from '../made-payments.ts'
import { applyAll, deliver, eventAbout, runWaiting } from './provider-events.ts'
import { t } from '../../support/own-engine.ts'

const read = ({ id: paymentId }: Payment) => t.readPayment({ tenantId: '', paymentId })

const reminder = (payment: Payment) => reminderOf(payment, payment.createdAt)

const remind = (payment: Payment) => applyProviderEvent(t.engine, reminder(payment))

async function waiting(): Promise<Payment> {
  return await t.readPayment(await asked(t))
}

/** A payment that waits for its cardholder for as long as the setting allows. */
async function abandoned(seconds = t.engine.settings.ACTION_EXPIRES_SECONDS): Promise<Payment> {
  const payment = await waiting()
  await age(payment, seconds)
  return payment
}

async function age({ id }: Payment, seconds = t.engine.settings.ACTION_EXPIRES_SECONDS) {
  await t.engine.store.sql`
    update provider_events set received_at = received_at - ${seconds} * interval '1 second'
    where payment_id = ${id}
  `
}

const authenticate = ({ providerPaymentId }: Payment, outcome: 'succeed' | 'fail' = 'succeed') =>
  t.provider.control('POST', `/payment_intents/${providerPaymentId}/authenticate`, { outcome })

const executed = ({ id: paymentId }: Payment) => t.executedFor({ paymentId })

const intentOf = ({ providerPaymentId }: Payment) =>
  t.provider.stripe.paymentIntents.retrieve(providerPaymentId ?? '')

/** The cancellation that the reminder started. */
const expiryOf = (payment: Payment) =>
  t.findOperation({ key: keyOfExpiry(payment), operation: 'payment.cancel' })

async function expectCanceled(payment: Payment): Promise<void> {
  const end = { status: 'canceled', cancellationReason: 'abandoned', failure: null }
  expect(await read(payment)).toMatchObject(end)
  expect(await intentOf(payment)).toMatchObject({
    status: 'canceled',
    cancellation_reason: 'abandoned',
  })
}

test('is canceled once at the provider, with its reason and its event', async () => {
  const payment = await abandoned()

  expect(await remind(payment)).toBe('pending')
  await runWaiting(t)
  expect(await remind(payment)).toBe('ignored')

  await expectCanceled(payment)
  const { id } = await expiryOf(payment)
  expect(await executed(payment)).toMatchObject([
    { kind: 'payment_intent.cancel', idempotency_key: `atomic_${id}_started` },
  ])
  expect(await eventsOf(t.engine.store, showPaymentId(payment.id))).toEqual([
    'payment.created',
    'payment.requires_action',
    'payment.processing',
    'payment.canceled',
  ])
})

test('is no dead letter', async () => {
  const payment = await abandoned()
  await remind(payment)
  await runWaiting(t)

  await remind(payment)

  const letters = await listDeadLetters(t.engine.store.sql, undefined, { limit: 10 })
  expect(letters?.items).toEqual([])
})

test('has a reminder that lasts until the payment is canceled, and for a day of failures', async () => {
  const payment = await waiting()

  const [job] = await t.engine.store.sql<{ limit: number; longest: number }[]>`
    select retry_limit as limit, retry_delay_max as longest from atomic_jobs.job
    where name = 'reminders' and data ->> 'eventId' = ${reminder(payment).id}
  `
  expect(job?.longest).toBe(360)
  expect((job?.limit ?? 0) * 360).toBeGreaterThanOrEqual(3_600 + 86_400)
})

test('is not canceled before its time', async () => {
  const payment = await abandoned(t.engine.settings.ACTION_EXPIRES_SECONDS - 60)

  expect(await remind(payment)).toBe('pending')
  await runWaiting(t)

  expect(await read(payment)).toMatchObject({ status: 'requires_action' })
  expect(await executed(payment)).toEqual([])
})

test('is canceled once by several reminders at the same time', async () => {
  const payment = await abandoned()

  const results = await Promise.all(Array.from({ length: 5 }, () => remind(payment)))
  await runWaiting(t)

  expect(new Set(results)).toEqual(new Set(['pending']))
  await expectCanceled(payment)
  expect(await executed(payment)).toHaveLength(1)
})

test('is canceled although its cardholder had to authenticate a second time', async () => {
  const payment = await waiting()
  await authenticate(payment, 'fail')
  await remind(payment)
  const card = { payment_method: 'pm_card_threeDSecureRequired', return_url: 'https://a.example' }
  await t.provider.stripe.paymentIntents.confirm(payment.providerPaymentId ?? '', card)
  await runWaiting(t)
  expect(await read(payment)).toMatchObject({ status: 'requires_action' })
  expect(await remind(payment)).toBe('pending')

  await t.engine.store.sql`
    update provider_events set received_at = received_at - interval '1 day'
    where payment_id = ${payment.id}
  `
  await remind(payment)
  await runWaiting(t)

  await expectCanceled(payment)
})

describe('a cardholder who authenticates', () => {
  const charge = ['payment_intent.confirm', 'payment_intent.capture']

  test('before the reminder looks is charged once', async () => {
    const payment = await abandoned()
    await authenticate(payment)

    expect(await applyAll(t, [reminder(payment)])).toEqual(['applied'])

    expect(await read(payment)).toMatchObject({ status: 'succeeded', cancellationReason: null })
    expect((await executed(payment)).map(({ kind }) => kind)).toEqual(charge)
  })

  test('just before the cancel reaches the provider gets the held money back', async () => {
    const payment = await abandoned()
    await remind(payment)
    const racing = aroundCall(t.engine, 'cancel', async (original) => {
      await authenticate(payment)
      return await original()
    })

    expect(await runOperation(racing, await expiryOf(payment))).toBe('finished')

    await expectCanceled(payment)
    expect(await executed(payment)).toMatchObject([
      { kind: 'payment_intent.confirm', amount: 1999 },
      { kind: 'payment_intent.cancel', amount: 1999 },
    ])
    expect(await remind(payment)).toBe('ignored')
  })

  test('and is charged before the cancel reaches the provider has paid', async () => {
    const payment = await abandoned()
    await remind(payment)
    const racing = aroundCall(t.engine, 'cancel', async (original) => {
      await authenticate(payment)
      await t.provider.stripe.paymentIntents.capture(payment.providerPaymentId ?? '')
      return await original()
    })

    expect(await runOperation(racing, await expiryOf(payment))).toBe('finished')
    expect(await read(payment)).toMatchObject({ status: 'requires_action' })
    expect(await applyAll(t, [reminder(payment)])).toEqual(['applied'])

    expect(await read(payment)).toMatchObject({ status: 'succeeded', amountCapturedMinor: 1999 })
    expect((await executed(payment)).map(({ kind }) => kind)).toEqual(charge)
  })
})

describe('a cancel', () => {
  const match = { path: '/v1/payment_intents/*/cancel' }

  test('whose outcome is unknown is looked up', async () => {
    const payment = await abandoned()
    await remind(payment)
    const ref = await expiryOf(payment)
    await giveUp(t, ref, match, 'nonsense_body')
    expect(await read(payment)).toMatchObject({ status: 'unknown' })
    expect(await remind(payment)).toBe('pending')

    await t.letTimePass(ref, 5)
    await resolveDue(t.engine)

    await expectCanceled(payment)
    expect(await executed(payment)).toHaveLength(1)
  })

  test('that was not executed is made again at the next reminder', async () => {
    const payment = await abandoned()
    await remind(payment)
    await giveUp(t, await expiryOf(payment), match)
    expect(await read(payment)).toMatchObject({ status: 'requires_action' })

    expect(await remind(payment)).toBe('pending')
    await runWaiting(t)

    await expectCanceled(payment)
    expect(await executed(payment)).toHaveLength(1)
  })

  test('is not made again after the cardholder has authenticated a manual payment', async () => {
    const made = await t.accept({
      captureMethod: 'manual',
      paymentMethod: 'pm_card_threeDSecureRequired',
    })
    await runOperation(t.engine, made)
    const payment = await t.readPayment(made)
    await age(payment)
    await remind(payment)
    const ref = await expiryOf(payment)
    await giveUp(t, ref, match)
    await authenticate(payment)
    const event = eventAbout(payment)
    await deliver(t.engine, event)
    await runWaiting(t)
    expect(await read(payment)).toMatchObject({ status: 'requires_capture' })

    await expect(reopenOperation(t.engine, ref)).rejects.toThrow(StaleResourceError)

    expect(await remind(payment)).toBe('ignored')
    expect(await read(payment)).toMatchObject({ status: 'requires_capture' })
    expect((await executed(payment)).map(({ kind }) => kind)).toEqual(['payment_intent.confirm'])
  })

  test('by the client comes first: the reminder has nothing to do', async () => {
    const payment = await abandoned()
    const ref = { tenantId: payment.tenantId, paymentId: payment.id }
    const cancel = await t.acceptCancel(ref, 'requested_by_customer')

    expect(await remind(payment)).toBe('pending')
    await runOperation(t.engine, cancel)
    expect(await remind(payment)).toBe('ignored')

    expect(await read(payment)).toMatchObject({ cancellationReason: 'requested_by_customer' })
    expect(await executed(payment)).toHaveLength(1)
  })
})
