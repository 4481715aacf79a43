// Tests the status of a payment whose capture has stopped, and when the capture can no longer be
// retried.
import { describe, expect, test } from '@jest/globals'
import { IntentRefusedError } from '../../../src/db/idempotency/intents.ts'
import { StaleResourceError } from '../../../src/db/payments/payments.ts'
import { reopenOperation } from '../../../src/engine/reopen-or-cancel.ts'
import { runOperation } from '../../../src/engine/run-phases.ts'
import { withoutRetries } from '../../support/engine-doubles.ts'
import type { Accepted, PaymentRef } from '../../support/engine.ts'
import { held, snapshot } from '../made-payments.ts'
import { t } from '../../support/own-engine.ts'

const reopen = (ref: Accepted) => reopenOperation(t.engine, ref)

/** A capture that is proved not to have run. */
async function failedCapture(): Promise<Accepted> {
  const ref = await t.acceptCapture(await held(t))
  const match = { path: '/v1/payment_intents/*/capture' }
  await t.provider.addFault({ match, fault: 'rate_limited', times: 3 })
  await runOperation(withoutRetries(t.engine), ref)
  return ref
}

describe('reopening a capture that failed is refused, and changes nothing,', () => {
  test.each([
    ['when the payment was canceled meanwhile', (ref: Accepted) => t.acceptCancel(ref), true],
    ['when another key captured it meanwhile', (ref: Accepted) => t.acceptCapture(ref), true],
    ['while the payment is being canceled', (ref: Accepted) => t.acceptCancel(ref), false],
    ['while another key captures it', (ref: Accepted) => t.acceptCapture(ref), false],
  ])('%s', async (_, accept, runsBefore) => {
    const ref = await failedCapture()
    const other = await accept(ref)
    if (runsBefore) await runOperation(t.engine, other)
    const before = await snapshot(t, ref)

    await expect(reopen(ref)).rejects.toThrow(StaleResourceError)

    expect(await snapshot(t, ref)).toEqual(before)
    expect(before.key).toMatchObject({ status: 'failed_retryable' })
    if (!runsBefore) expect(await runOperation(t.engine, other)).toBe('finished')
  })

  test('when the other operation on the payment is unknown', async () => {
    const ref = await failedCapture()
    const other = await t.acceptCancel(ref)
    const match = { path: '/v1/payment_intents/*/cancel' }
    await t.provider.addFault({ match, fault: 'nonsense_body', times: 3 })
    await runOperation(withoutRetries(t.engine), other)
    const before = await snapshot(t, ref)

    await expect(reopen(ref)).rejects.toThrow(StaleResourceError)

    expect(await snapshot(t, ref)).toEqual(before)
  })
})

test('a capture with an unknown outcome makes the payment unknown, and blocks other operations', async () => {
  const ref = await t.acceptCapture(await held(t))
  const match = { path: '/v1/payment_intents/*/capture' }
  await t.provider.addFault({ match, fault: 'nonsense_body', times: 3 })

  await runOperation(withoutRetries(t.engine), ref)

  expect(await t.readPayment(ref)).toMatchObject({ status: 'unknown', amountCapturedMinor: 0 })
  await expect(t.acceptCancel(ref)).rejects.toThrow(IntentRefusedError)
  await expect(t.acceptCapture(ref)).rejects.toThrow(IntentRefusedError)
  await expect(t.acceptRefund(ref)).rejects.toThrow(IntentRefusedError)
})

describe('a refused capture', () => {
  /** A payment whose captures the provider refuses with this code. */
  async function refusing(code: string): Promise<PaymentRef> {
    const paymentMethod = `pm_fault_capture_${code}`
    const ref = await t.accept({ captureMethod: 'manual', paymentMethod })
    await runOperation(t.engine, ref)
    return ref
  }

  test.each([
    ['captured in another amount', (ref: PaymentRef) => t.acceptCapture(ref, 1500), 'succeeded'],
    ['canceled', (ref: PaymentRef) => t.acceptCancel(ref), 'canceled'],
  ])('leaves the money held, and the payment can be %s', async (_, accept, status) => {
    const payment = await refusing('amount_too_small')
    const ref = await t.acceptCapture(payment, 999)

    expect(await runOperation(t.engine, ref)).toBe('finished')

    const { response_status: answered, response_body: body } = await t.readKey(ref)
    expect(answered).toBe(402)
    expect(JSON.parse(String(body))).toMatchObject({
      error: { code: 'amount_too_small' },
      payment: { status: 'requires_capture', failure: null },
    })
    expect(await t.readPayment(ref)).toMatchObject({ status: 'requires_capture', failure: null })
    expect(await runOperation(t.engine, await accept(payment))).toBe('finished')
    expect(await t.readPayment(ref)).toMatchObject({ status })
  })

  test('of what is captured already is looked up, and posted once', async () => {
    const ref = await t.acceptCapture(await refusing('charge_already_captured'))

    expect(await runOperation(t.engine, ref)).toBe('finished')

    expect(await t.readKey(ref)).toMatchObject({ response_status: 200 })
    expect(await t.readPayment(ref)).toMatchObject({ status: 'succeeded' })
  })
})
