// Tests payments that fail between authorization and capture: their money never stays held without
// a payment that says so.
import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { StaleResourceError } from '../../../src/db/payments/payments.ts'
import { showPaymentId } from '../../../src/domain/payments/payment.ts'
import { reopenOperation } from '../../../src/engine/reopen-or-cancel.ts'
import { runOperation } from '../../../src/engine/run-phases.ts'
import { resolveDue } from '../../../src/recovery/outcome-resolver.ts'
import { reap, type ReaperSettings } from '../../../src/recovery/reaper.ts'
import { startAdminApi, type AdminApi } from '../../support/admin.ts'
import { paymentBody, postPayment } from '../../support/client.ts'
import {
  aroundCall,
  dieAt,
  giveUp,
  runLosingCommit,
  withoutRetries,
} from '../../support/engine-doubles.ts'
import type { Accepted, TestEngine } from '../../support/engine.ts'
import { expireKeys } from '../../support/expired-keys.ts'
import { expectLedgerBalanced } from '../../support/ledger.ts'
import { eventsOf, postingsOf } from '../../support/records.ts'
import { deliver, eventAbout, runWaiting, applyAll } from '../follow-payment/provider-events.ts'
import { asked } from '../made-payments.ts'

let api: AdminApi
let t: TestEngine

beforeAll(async () => {
  api = await startAdminApi()
  t = api.t
})
afterEach(() => t.provider.control('POST', '/reset'))
afterEach(() => expectLedgerBalanced(t.engine.store))
afterAll(() => api.stop())

const run = (ref: Accepted, engine = t.engine) => runOperation(engine, ref)

const reaperSettings: ReaperSettings = {
  KEY_RETENTION_SECONDS: 86_400,
  TOMBSTONE_RETENTION_SECONDS: 7 * 86_400,
  REAP_BATCH_SIZE: 100,
  IDEMPOTENCY_FLAVOR: 'ietf',
}

/** A payment whose capture the provider refuses with this code. */
const refusedWith = (code: string, amountMinor = 999) =>
  t.accept({ paymentMethod: `pm_fault_capture_${code}`, amountMinor })

const HELD = 'amount_too_large'

const kindsOf = async (ref: Accepted) => (await t.executedFor(ref)).map(({ kind }) => kind)

async function intentOf(ref: Accepted) {
  const { providerPaymentId } = await t.readPayment(ref)
  return await t.provider.stripe.paymentIntents.retrieve(providerPaymentId ?? '')
}

/** The payment is declined with the reason of the capture, and nothing is held. */
async function expectVoided(ref: Accepted, code = HELD): Promise<void> {
  expect(await t.readKey(ref)).toMatchObject({ status: 'completed', response_status: 402 })
  expect(JSON.parse(String((await t.readKey(ref))['response_body']))).toMatchObject({
    type: '/problems/payment-declined',
    error: { code },
    payment: { status: 'declined', failure: { code } },
  })
  expect(await t.readPayment(ref)).toMatchObject({ status: 'declined', failure: { code } })
  expect(await intentOf(ref)).toMatchObject({ status: 'canceled', amount_capturable: 0 })
  expect(await kindsOf(ref)).toEqual(['payment_intent.create', 'payment_intent.cancel'])
  expect(await postingsOf(t.engine.store, showPaymentId(ref.paymentId))).toEqual([])
}

describe('a refused capture', () => {
  test.each(['amount_too_small', 'amount_too_large'])(
    'with %s is followed by a cancel of the hold, under its own provider key',
    async (code) => {
      const ref = await refusedWith(code)

      expect(await run(ref)).toBe('finished')

      await expectVoided(ref, code)
      expect((await t.executedFor(ref))[1]).toMatchObject({
        amount: 999,
        idempotency_key: `atomic_${ref.id}_refused`,
      })
      expect(await eventsOf(t.engine.store, showPaymentId(ref.paymentId))).toEqual([
        'payment.created',
        'payment.declined',
      ])
    },
  )

  test.each(['charge_expired_for_capture', 'capture_charge_authorization_expired'])(
    'with %s ends the payment without a call: nothing is held any more',
    async (code) => {
      const ref = await refusedWith(code)

      expect(await run(ref)).toBe('finished')

      await expectVoided(ref, code)
      // The provider itself ended the authorization.
      expect((await t.executedFor(ref))[1]).toMatchObject({ idempotency_key: null })
    },
  )

  test('with charge_already_captured is looked up, and posted once', async () => {
    const ref = await refusedWith('charge_already_captured')

    expect(await run(ref)).toBe('finished')

    expect(await t.readKey(ref)).toMatchObject({ response_status: 201 })
    expect(await t.readPayment(ref)).toMatchObject({
      status: 'succeeded',
      amountCapturedMinor: 999,
      failure: null,
    })
    expect(await postingsOf(t.engine.store, showPaymentId(ref.paymentId))).toHaveLength(1)
  })

  test('after 3-D Secure is followed by a cancel of the hold, too', async () => {
    const { tenantId, paymentId } = await asked(t)
    const payment = await t.readPayment({ tenantId, paymentId })
    const path = `/payment_intents/${payment.providerPaymentId}/authenticate`
    await t.provider.control('POST', path, { outcome: 'succeed' })
    const event = eventAbout(payment)
    await deliver(t.engine, event)
    const ref = await t.findOperation({ payment_id: paymentId, operation: 'payment.follow' })
    const failure = { code: HELD, declineCode: null, message: 'Too large.' }
    const refused = { outcome: 'declined', failure, providerPaymentId: null } as const
    const engine = aroundCall(t.engine, 'capture', () =>
      Promise.resolve({ ...refused, asked: {}, answered: {} }),
    )

    expect(await run(ref, engine)).toBe('finished')

    expect(await t.readPayment(ref)).toMatchObject({ status: 'declined', failure: { code: HELD } })
    expect(await intentOf(ref)).toMatchObject({ status: 'canceled', cancellation_reason: null })
    expect(await applyAll(t, [event])).toEqual(['applied'])
  })
})

describe('the cancel of a hold', () => {
  const match = { path: '/v1/payment_intents/*/cancel' }

  test('is made once although its owner crashed before it was recorded', async () => {
    const ref = await refusedWith(HELD)
    await dieAt(t, ref, 'refused')
    await t.expireLease(ref)

    expect(await run(ref)).toBe('finished')

    await expectVoided(ref)
  })

  test('is made once although the acknowledgment of its commit is lost', async () => {
    const ref = await refusedWith(HELD)

    await runLosingCommit(t, ref, 'refused')

    await expectVoided(ref)
  })

  test('whose outcome is unknown is looked up, and keeps the reason of the capture', async () => {
    const ref = await refusedWith(HELD)
    await t.provider.addFault({ match, fault: 'nonsense_body', times: 3 })
    expect(await run(ref, withoutRetries(t.engine))).toBe('gave_up')
    expect(await t.readPayment(ref)).toMatchObject({ status: 'unknown', failure: { code: HELD } })

    await t.letTimePass(ref, 5)
    await resolveDue(t.engine)

    await expectVoided(ref)
  })

  test('that was not executed leaves the payment capturable and cancelable', async () => {
    const ref = await refusedWith(HELD)
    await giveUp(t, ref, match)
    expect(await t.readPayment(ref)).toMatchObject({
      status: 'requires_capture',
      failure: { code: HELD },
    })

    const cancel = await t.acceptCancel(ref)
    expect(await run(cancel)).toBe('finished')

    expect(await t.readPayment(ref)).toMatchObject({ status: 'canceled', failure: null })
    expect(await intentOf(ref)).toMatchObject({ status: 'canceled' })
  })

  test("that was not executed is made again at the client's retry", async () => {
    const ref = await refusedWith(HELD)
    await giveUp(t, ref, match)

    expect(await reopenOperation(t.engine, ref)).toBe(true)
    expect(await run(ref)).toBe('finished')

    await expectVoided(ref)
  })

  test('that is refused because the money was captured leads to a success', async () => {
    const ref = await refusedWith(HELD)
    const engine = aroundCall(t.engine, 'cancel', async (original) => {
      const { id } = await intentOf(ref)
      const captured = { status: 'succeeded', amount_received: 999, amount_capturable: 0 }
      await t.provider.control('POST', `/objects/${id}`, captured)
      return await original()
    })

    expect(await run(ref, engine)).toBe('finished')

    expect(await t.readKey(ref)).toMatchObject({ response_status: 201 })
    expect(await t.readPayment(ref)).toMatchObject({
      status: 'succeeded',
      amountCapturedMinor: 999,
      failure: null,
    })
    expect(await postingsOf(t.engine.store, showPaymentId(ref.paymentId))).toHaveLength(1)
  })

  test('that is refused while the money is held leaves the payment to its client', async () => {
    const ref = await refusedWith(HELD)
    const failure = { code: 'not_now', declineCode: null, message: 'Not now.' }
    const refusal = { outcome: 'declined', failure, providerPaymentId: null } as const
    const engine = aroundCall(t.engine, 'cancel', () =>
      Promise.resolve({ ...refusal, asked: {}, answered: {} }),
    )

    expect(await run(ref, engine)).toBe('finished')

    expect(await t.readKey(ref)).toMatchObject({ response_status: 402 })
    expect(await t.readPayment(ref)).toMatchObject({ status: 'requires_capture', failure: null })
    expect(await run(await t.acceptCancel(ref))).toBe('finished')
    expect(await t.readPayment(ref)).toMatchObject({ status: 'canceled' })
  })
})

describe('a creation whose capture was given up', () => {
  const match = { path: '/v1/payment_intents/*/capture' }

  async function givenUp(): Promise<Accepted> {
    const ref = await t.accept()
    await giveUp(t, ref, match)
    await t.provider.control('DELETE', '/faults')
    return ref
  }

  test('leaves the payment held, and its retry captures it', async () => {
    const ref = await givenUp()
    expect(await t.readPayment(ref)).toMatchObject({ status: 'requires_capture', failure: null })

    expect(await reopenOperation(t.engine, ref)).toBe(true)
    expect(await run(ref)).toBe('finished')

    expect(await t.readPayment(ref)).toMatchObject({ status: 'succeeded' })
    expect(await kindsOf(ref)).toEqual(['payment_intent.create', 'payment_intent.capture'])
  })

  test('is not captured by an event: that is up to its client', async () => {
    const ref = await givenUp()
    const event = eventAbout(await t.readPayment(ref))

    expect(await deliver(t.engine, event)).toBe('ignored')
    await runWaiting(t)

    expect(await t.readPayment(ref)).toMatchObject({ status: 'requires_capture' })
  })

  test.each([
    ['canceled', (ref: Accepted) => t.acceptCancel(ref)],
    ['captured', (ref: Accepted) => t.acceptCapture(ref)],
  ])('can be %s by its client, and then no longer be retried', async (_, accept) => {
    const ref = await givenUp()
    expect(await run(await accept(ref))).toBe('finished')
    const before = await t.readPayment(ref)

    await expect(reopenOperation(t.engine, ref)).rejects.toThrow(StaleResourceError)

    expect(await t.readPayment(ref)).toEqual(before)
  })

  test('answers 409 to a retry after its client canceled, and keeps that answer', async () => {
    const key = randomUUID()
    const tenant = { id: t.tenantId, apiKey: t.apiKey }
    const create = () => postPayment(api.url, tenant, paymentBody(), { key })
    expect((await create()).status).toBe(202)
    const ref = await t.findOperation({ key })
    await giveUp(t, ref, match)
    expect(await run(await t.acceptCancel(ref))).toBe('finished')

    const refused = await create()
    await expireKeys(t.engine.store.sql, ref)
    expect(await reap(t.engine, reaperSettings)).toMatchObject({ overtaken: 1, abandoned: 0 })
    const replayed = await create()

    const problem = { type: '/problems/invalid-state' }
    expect(refused).toMatchObject({ status: 409, json: problem })
    const detail = 'Another request ended the payment.'
    expect(replayed).toMatchObject({ status: 409, json: { ...problem, detail } })
    expect(replayed.headers.get('idempotent-replayed')).toBe('true')
    expect(await kindsOf(ref)).toEqual(['payment_intent.create', 'payment_intent.cancel'])
  })
})
