import { randomUUIDv7 } from 'node:crypto'
import { describe, expect, test } from '@jest/globals'
import type { Request } from 'express'
import { IntentRefusedError, reserveIntent } from '../../../src/db/idempotency/intents.ts'
import { StaleResourceError } from '../../../src/db/payments/payments.ts'
import { showPaymentId } from '../../../src/domain/payments/payment.ts'
import type { ApiParts } from '../../../src/http/endpoint.ts'
import { capturePaymentEndpoint } from '../../../src/operations/capture-payment/endpoint.ts'
import { reopenOperation } from '../../../src/engine/reopen-or-cancel.ts'
import { runOperation } from '../../../src/engine/run-phases.ts'
import { stripeOf, withoutRetries } from '../../support/engine-doubles.ts'
import type { Accepted, PaymentRef } from '../../support/engine.ts'
import { held } from '../made-payments.ts'
import { t } from '../../support/own-engine.ts'

async function adjust(payment: PaymentRef, amount: number): Promise<Accepted> {
  const ref = await t.begin('payment.adjust', payment, { amount })
  expect(await runOperation(t.engine, ref)).toBe('finished')
  return ref
}

const amountsAtProvider = async (payment: PaymentRef) => {
  const { providerPaymentId } = await t.readPayment(payment)
  const intent = await t.provider.stripe.paymentIntents.retrieve(providerPaymentId ?? '')
  return { amount: intent.amount, capturable: intent.amount_capturable }
}

test('increases the amount here and at the provider, any number of times', async () => {
  const payment = await held(t)

  await adjust(payment, 2499)
  await adjust(payment, 3000)

  expect(await t.readPayment(payment)).toMatchObject({
    status: 'requires_capture',
    amountMinor: 3000,
  })
  expect(await amountsAtProvider(payment)).toEqual({ amount: 3000, capturable: 3000 })
})

test('a capture captures the new amount by default', async () => {
  const payment = await held(t)
  await adjust(payment, 2499)

  const capture = await t.begin('payment.capture', payment)
  expect(await runOperation(t.engine, capture)).toBe('finished')

  expect(await t.readPayment(payment)).toMatchObject({
    status: 'succeeded',
    amountMinor: 2499,
    amountCapturedMinor: 2499,
  })
})

describe('a decline leaves the payment held as it was', () => {
  test('of the card', async () => {
    const made = await t.accept({
      captureMethod: 'manual',
      paymentMethod: 'pm_fault_increment_declined',
    })
    await runOperation(t.engine, made)

    const ref = await adjust(made, 2499)

    expect(await t.readKey(ref)).toMatchObject({ status: 'completed', response_status: 402 })
    expect(await t.readPayment(made)).toMatchObject({
      status: 'requires_capture',
      amountMinor: 1999,
      failure: null,
    })
    expect(await amountsAtProvider(made)).toEqual({ amount: 1999, capturable: 1999 })
  })

  test('of Stripe, which cannot lower an authorization', async () => {
    const payment = await held(t)

    const ref = await adjust(payment, 1000)

    expect(await t.readKey(ref)).toMatchObject({ status: 'completed', response_status: 402 })
    expect(String((await t.readKey(ref))['response_body'])).toContain('amount_too_small')
    expect(await t.readPayment(payment)).toMatchObject({
      status: 'requires_capture',
      amountMinor: 1999,
    })
  })

  test('of a payment that was canceled at the provider meanwhile', async () => {
    const payment = await held(t)
    const { providerPaymentId } = await t.readPayment(payment)
    await t.provider.stripe.paymentIntents.cancel(providerPaymentId ?? '')

    const ref = await adjust(payment, 2499)

    expect(await t.readKey(ref)).toMatchObject({ response_status: 402 })
    expect(await t.readPayment(payment)).toMatchObject({ amountMinor: 1999 })
  })
})

test('the current amount is refused, because a lookup could not show whether it was set', async () => {
  const payment = await held(t)

  await expect(t.begin('payment.adjust', payment, { amount: 1999 })).rejects.toThrow(
    IntentRefusedError,
  )
})

describe('a capture that was requested before the amount changed', () => {
  test('is refused by the statement that marks the payment as processing', async () => {
    const payment = await held(t)
    const { store } = t.engine
    const provider = stripeOf(t.engine)
    const parts = { store, providers: { capabilitiesOf: () => provider.capabilities } }
    const draft = await capturePaymentEndpoint.readBeforeKey({
      parts: parts as unknown as ApiParts,
      request: { params: { id: showPaymentId(payment.paymentId) } } as unknown as Request,
      tenantId: t.tenantId,
      body: { amount: 1000 },
    })
    await adjust(payment, 2499)
    const intent = {
      tenantId: t.tenantId,
      id: randomUUIDv7(),
      key: randomUUIDv7(),
      fingerprint: Buffer.alloc(32),
      operation: 'payment.capture',
      paymentId: payment.paymentId,
      refundId: null,
      parameters: {},
      retentionSeconds: 60,
    }

    const reserved = reserveIntent(store.sql, intent, draft.resource)

    await expect(reserved).rejects.toThrow(IntentRefusedError)
    expect(await draft.explainRefusal()).toMatchObject({
      type: 'invalid-state',
      detail: 'The amount of the payment has changed.',
    })
  })

  test('is too late for a retry', async () => {
    const payment = await held(t)
    const path = '/v1/payment_intents/*/capture'
    await t.provider.addFault({ match: { path }, fault: 'rate_limited', times: 3 })
    const capture = await t.acceptCapture(payment, 1999)
    expect(await runOperation(withoutRetries(t.engine), capture)).toBe('gave_up')
    await t.provider.control('DELETE', '/faults')
    await adjust(payment, 2499)

    await expect(reopenOperation(t.engine, capture)).rejects.toThrow(StaleResourceError)

    expect(await t.readPayment(payment)).toMatchObject({ status: 'requires_capture' })
  })
})
