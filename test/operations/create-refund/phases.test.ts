// Tests how long a refund reserves its amount: from the intent until it can no longer succeed.
import { describe, expect, test } from '@jest/globals'
import { IntentRefusedError } from '../../../src/db/idempotency/intents.ts'
import { StaleResourceError } from '../../../src/db/payments/payments.ts'
import { reopenOperation } from '../../../src/engine/reopen-or-cancel.ts'
import { runOperation } from '../../../src/engine/run-phases.ts'
import { withoutRetries } from '../../support/engine-doubles.ts'
import type { PaymentRef } from '../../support/engine.ts'
import { captured, snapshot } from '../made-payments.ts'
import { t } from '../../support/own-engine.ts'

const match = { path: '/v1/refunds' }

const amountsOf = async (payment: PaymentRef) => {
  const { amountRefundedMinor, amountRefundingMinor } = await t.readPayment(payment)
  return { refunded: amountRefundedMinor, held: amountRefundingMinor }
}

/** A refund that is proved not to have run. */
async function failedRefund(payment: PaymentRef, amountMinor: number) {
  const ref = await t.acceptRefund(payment, amountMinor)
  await t.provider.addFault({ match, fault: 'rate_limited', times: 3 })
  await runOperation(withoutRetries(t.engine), ref)
  return ref
}

describe('a refund', () => {
  test('whose outcome is unknown keeps its amount reserved', async () => {
    const payment = await captured(t)
    const ref = await t.acceptRefund(payment, 1500)
    await t.provider.addFault({ match, fault: 'nonsense_body', times: 3 })

    expect(await runOperation(withoutRetries(t.engine), ref)).toBe('gave_up')

    expect(await t.readRefund(ref)).toMatchObject({ status: 'unknown', providerRefundId: null })
    expect(await amountsOf(payment)).toEqual({ refunded: 0, held: 1500 })
    await expect(t.acceptRefund(payment, 500)).rejects.toThrow(IntentRefusedError)
    expect(await runOperation(t.engine, await t.acceptRefund(payment, 499))).toBe('finished')
  })
})

describe('a refund that failed', () => {
  test('releases its amount for other refunds', async () => {
    const payment = await captured(t)

    const ref = await failedRefund(payment, 1500)

    expect(await t.readRefund(ref)).toMatchObject({ status: 'failed', failure: null })
    expect(await amountsOf(payment)).toEqual({ refunded: 0, held: 0 })
    expect(await runOperation(t.engine, await t.acceptRefund(payment))).toBe('finished')
    expect(await amountsOf(payment)).toEqual({ refunded: 1999, held: 0 })
  })

  test('reserves its amount again when it is reopened, and is executed once', async () => {
    const payment = await captured(t)
    const ref = await failedRefund(payment, 1500)
    await t.acceptRefund(payment, 499)

    expect(await reopenOperation(t.engine, ref)).toBe(true)

    expect(await t.readRefund(ref)).toMatchObject({ status: 'processing' })
    expect(await amountsOf(payment)).toEqual({ refunded: 0, held: 1999 })
    expect(await runOperation(t.engine, ref)).toBe('finished')
    expect(await amountsOf(payment)).toEqual({ refunded: 1500, held: 499 })
  })

  test.each([
    ['reserved', false],
    ['given', true],
  ])('is not reopened when too little is left, the rest being %s', async (_, runs) => {
    const payment = await captured(t)
    const ref = await failedRefund(payment, 1500)
    const other = await t.acceptRefund(payment, 500)
    if (runs) await runOperation(t.engine, other)
    const before = await snapshot(t, ref)

    await expect(reopenOperation(t.engine, ref)).rejects.toThrow(StaleResourceError)

    expect(await snapshot(t, ref)).toEqual(before)
    expect(before.key).toMatchObject({ status: 'failed_retryable' })
    expect(before.refund).toMatchObject({ status: 'failed' })
  })

  test('is reopened only once, when the amount is not enough for two failed refunds', async () => {
    const payment = await captured(t)
    const refs = [await failedRefund(payment, 1500), await failedRefund(payment, 1500)]

    const reopened = await Promise.allSettled(refs.map((ref) => reopenOperation(t.engine, ref)))

    expect(reopened.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    const [refused] = reopened.filter((result) => result.status === 'rejected')
    expect(refused?.reason).toBeInstanceOf(StaleResourceError)
    expect(await amountsOf(payment)).toEqual({ refunded: 0, held: 1500 })
  })
})
