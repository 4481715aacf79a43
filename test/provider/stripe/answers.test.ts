// Tests the adapter against servers whose answers only Stripe has: refusals that name the state of the
// intent, and advice to retry. What every adapter has in common is in test/provider/contract.
import { afterEach, describe, expect, test } from '@jest/globals'
import { adapterFor, identityOf, paymentOf, refundOf } from './adapter-calls.ts'
import {
  answerJson,
  startAnsweringServer,
  type AnsweringServer,
} from '../contract/answering-server.ts'
import { intent, refund, taken } from './answered.ts'

describe('with an unusual server', () => {
  let server: AnsweringServer

  afterEach(async () => server.close())

  const waiting = paymentOf({ providerPaymentId: 'pi_1' })

  test.each(['succeeded', 'pending'])('200 with a refund that is %s: done', async (status) => {
    server = await startAnsweringServer(answerJson(200, refund({ status })))

    const outcome = await adapterFor(server.url).calls.refund.execute(
      { payment: waiting, refund: refundOf(waiting) },
      identityOf('started'),
    )

    expect(outcome).toMatchObject({
      outcome: 'done',
      value: { providerRefundId: 're_1' },
      answered: { status: 200, refund_id: 're_1', refund_status: status, amount: 1999 },
    })
  })

  const invalid = { type: 'invalid_request_error', message: 'no' }
  const stateRefusal = { ...invalid, code: 'payment_intent_unexpected_state' }

  test.each([
    ['succeeded for the full amount', 'done', intent(taken)],
    ['succeeded for less', 'unknown', intent({ ...taken, amount_received: 1000 })],
    ['canceled', 'declined', intent({ status: 'canceled' })],
    ['still waiting', 'unknown', intent()],
    ['another one', 'unknown', intent({ ...taken, id: 'pi_2' })],
    ['another one that was canceled', 'unknown', intent({ status: 'canceled', id: 'pi_2' })],
    ['not told', 'unknown', undefined],
  ])('a capture refused because the intent is %s: %s', async (_, expected, payment_intent) => {
    server = await startAnsweringServer(
      answerJson(400, { error: { ...stateRefusal, payment_intent } }),
    )

    const outcome = await adapterFor(server.url).calls.capture.execute(
      { payment: waiting, amountMinor: waiting.amountMinor },
      identityOf('authorized'),
    )

    expect(outcome.outcome).toBe(expected)
  })

  test.each([
    ['canceled', 'done', intent({ status: 'canceled' })],
    ['captured', 'declined', intent(taken)],
    ['still waiting', 'unknown', intent()],
    ['another one that was canceled', 'unknown', intent({ status: 'canceled', id: 'pi_2' })],
    ['not told', 'unknown', undefined],
  ])('a cancellation refused because the intent is %s: %s', async (_, expected, payment_intent) => {
    server = await startAnsweringServer(
      answerJson(400, { error: { ...stateRefusal, payment_intent } }),
    )

    const outcome = await adapterFor(server.url).calls.cancel.execute(
      { payment: waiting, reason: null },
      identityOf('started'),
    )

    expect(outcome.outcome).toBe(expected)
  })

  test.each([
    ['409', answerJson(409, { error: invalid }, { 'stripe-should-retry': 'true' })],
    ['429', answerJson(429, { error: invalid }, { 'stripe-should-retry': 'true' })],
    ['500', answerJson(500, { error: invalid }, { 'stripe-should-retry': 'true' })],
    ['503', answerJson(503, { error: invalid }, { 'retry-after': '0' })],
  ])('%s with the advice to retry is not repeated', async (_, listener) => {
    server = await startAnsweringServer(listener)

    await adapterFor(server.url).calls.authorize.execute(
      { payment: paymentOf() },
      identityOf('started'),
    )

    expect(server.requests()).toBe(1)
  })
})
