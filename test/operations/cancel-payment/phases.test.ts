// Tests the status of a payment whose cancellation has stopped, and that the payment returns to its
// previous status when the provider declines the cancellation.
import { describe, expect, test } from '@jest/globals'
import { StaleResourceError } from '../../../src/db/payments/payments.ts'
import { reopenOperation } from '../../../src/engine/reopen-or-cancel.ts'
import { runOperation } from '../../../src/engine/run-phases.ts'
import { aroundCall, withoutRetries } from '../../support/engine-doubles.ts'
import { asked, held, snapshot } from '../made-payments.ts'
import { t } from '../../support/own-engine.ts'

const match = { path: '/v1/payment_intents/*/cancel' }

describe.each([
  ['requires_capture', held],
  ['requires_action', asked],
] as const)('of a payment that is %s', (status, make) => {
  test('a cancellation that failed restores the status, and sets processing when it is reopened', async () => {
    const ref = await t.acceptCancel(await make(t))
    await t.provider.addFault({ match, fault: 'rate_limited', times: 3 })

    expect(await runOperation(withoutRetries(t.engine), ref)).toBe('gave_up')
    expect(await t.readPayment(ref)).toMatchObject({ status })
    expect(await reopenOperation(t.engine, ref)).toBe(true)
    expect(await t.readPayment(ref)).toMatchObject({ status: 'processing' })

    expect(await runOperation(t.engine, ref)).toBe('finished')
    expect(await t.readPayment(ref)).toMatchObject({ status: 'canceled' })
  })

  test('a cancellation that is declined answers 402 and restores the status, without a failure', async () => {
    const ref = await t.acceptCancel(await make(t))
    const refusing = aroundCall(t.engine, 'cancel', async () => ({
      outcome: 'declined',
      failure: { code: 'not_now', declineCode: null, message: 'Not now.' },
      providerPaymentId: null,
      asked: {},
      answered: {},
    }))

    expect(await runOperation(refusing, ref)).toBe('finished')

    expect(await t.readKey(ref)).toMatchObject({ status: 'completed', response_status: 402 })
    expect(await t.readPayment(ref)).toMatchObject({ status, failure: null })
    expect(await runOperation(t.engine, await t.acceptCancel(ref))).toBe('finished')
    expect(await t.readPayment(ref)).toMatchObject({ status: 'canceled' })
  })
})

test.each([
  ['when the payment was captured meanwhile', true],
  ['while the payment is being captured', false],
])('reopening a cancellation is refused, and changes nothing, %s', async (_, runs) => {
  const ref = await t.acceptCancel(await held(t))
  await t.provider.addFault({ match, fault: 'rate_limited', times: 3 })
  await runOperation(withoutRetries(t.engine), ref)
  const capture = await t.acceptCapture(ref)
  if (runs) await runOperation(t.engine, capture)
  const before = await snapshot(t, ref)

  await expect(reopenOperation(t.engine, ref)).rejects.toThrow(StaleResourceError)

  expect(await snapshot(t, ref)).toEqual(before)
  expect(before.key).toMatchObject({ status: 'failed_retryable' })
})
