// Tests the adapter against servers whose answers only Stripe has: refusals that name the state of the
// intent. What every adapter has in common is in test/provider/contract.
import { afterEach, expect, test } from '@jest/globals'
import type { CallName } from '../../../src/provider/calls.ts'
import { portCalls } from '../contract/calls.ts'
import { adapterFor, identityOf, paymentOf } from './adapter-calls.ts'
import {
  answerJson,
  startAnsweringServer,
  type AnsweringServer,
} from '../contract/answering-server.ts'
import { intent, taken } from './answered.ts'

let server: AnsweringServer

afterEach(async () => server.close())

const waiting = paymentOf({ providerPaymentId: 'pi_1' })

const stateRefusal = {
  type: 'invalid_request_error',
  message: 'no',
  code: 'payment_intent_unexpected_state',
}

test.each<[CallName, string, string, object | undefined]>([
  ['capture', 'succeeded for the full amount', 'done', intent(taken)],
  ['capture', 'succeeded for less', 'unknown', intent({ ...taken, amount_received: 1000 })],
  ['capture', 'canceled', 'declined', intent({ status: 'canceled' })],
  ['capture', 'still waiting', 'unknown', intent()],
  ['capture', 'another one', 'unknown', intent({ ...taken, id: 'pi_2' })],
  ['capture', 'canceled, and another one', 'unknown', intent({ status: 'canceled', id: 'pi_2' })],
  ['capture', 'not told', 'unknown', undefined],
  ['cancel', 'canceled', 'done', intent({ status: 'canceled' })],
  ['cancel', 'captured', 'declined', intent(taken)],
  ['cancel', 'still waiting', 'unknown', intent()],
  ['cancel', 'canceled, and another one', 'unknown', intent({ status: 'canceled', id: 'pi_2' })],
  ['cancel', 'not told', 'unknown', undefined],
])('a %s refused because the intent is %s: %s', async (name, _, expected, payment_intent) => {
  const error = { ...stateRefusal, payment_intent }
  server = await startAnsweringServer(answerJson(400, { error }))

  const outcome = await portCalls[name].make(adapterFor(server.url), waiting, identityOf('started'))

  expect(outcome.outcome).toBe(expected)
})
