// Every call at Stripe, for the tests of the adapter and for the proxies of the fault suite: its request, its
// name in the log of the stand-in, and answers that confirm it or do not.
import type { CallName } from '../../../src/provider/calls.ts'
import type { PaymentProvider } from '../../../src/provider/payment-provider.ts'
import type { Payment } from '../../../src/domain/payments/payment.ts'
import { answerJson } from '../contract/answering-server.ts'
import type { ContractCall } from '../contract/fixture.ts'
import { authorized, captured, paymentOf } from './adapter-calls.ts'
import { intent, refund, taken } from './answered.ts'

interface Parts extends Pick<ContractCall, 'kind' | 'confirmsNoAmount'> {
  /** In minor units, as the log has it; by default the whole amount. */
  readonly amount?: number
  readonly path: string
  /** Creates a payment for which the call is possible. */
  readonly ready: (adapter: PaymentProvider) => Promise<Payment>
  /** What the timeline says beside the provider key and the id of the payment. */
  readonly asked?: object
  readonly answered?: object
  /** Members of the result. Left out when the call has none. */
  readonly value?: object
}

interface StripeCall extends ContractCall, Pick<Parts, 'ready' | 'asked' | 'answered' | 'value'> {
  readonly ready: Parts['ready']
}

const foreign: readonly (readonly [string, unknown])[] = [
  ['an empty object', {}],
  ['an empty list', []],
  ['a foreign object', { status: 'ok' }],
  ['a number', 5],
  ['a text', 'OK'],
  ['true', true],
  ['null', null],
]

type Bodies = readonly (readonly [title: string, body: unknown])[]

function callOf(
  { amount = 1999, path, ...parts }: Parts,
  right: object,
  wrong: Bodies,
): StripeCall {
  return {
    ...parts,
    amount,
    request: { method: 'POST', path },
    right: () => answerJson(200, right),
    wrong: [...wrong, ...foreign].map(([title, body]) => [title, () => answerJson(200, body)]),
  }
}

const raised = { amount: 2499, amount_capturable: 2499 }

export const calls: Readonly<Record<CallName, StripeCall>> = {
  authorize: callOf(
    {
      kind: 'payment_intent.create',
      path: '/v1/payment_intents',
      ready: async () => paymentOf(),
      asked: { call: 'payment_intents.create', amount: 1999 },
      answered: { payment_status: 'requires_capture', amount: 1999 },
      value: { status: 'held' },
    },
    intent(),
    [
      ['an object without an id', intent({ id: undefined })],
      ['an object of another kind', intent({ object: 'charge' })],
      ['another amount', intent({ amount: 2000 })],
      ['an amount as a text', intent({ amount: '1999' })],
      ['another currency', intent({ currency: 'usd' })],
      ['less held than asked for', intent({ amount_capturable: 1000 })],
      ['a payment that was taken at once', intent(taken)],
      [
        'a payment that waits for its customer, without a secret to ask with',
        intent({ status: 'requires_action', client_secret: null }),
      ],
      [
        'another amount that waits for its customer',
        intent({ status: 'requires_action', amount: 2000 }),
      ],
      ['a payment that is still processing', intent({ status: 'processing' })],
      ['a canceled payment', intent({ status: 'canceled' })],
    ],
  ),
  capture: callOf(
    {
      kind: 'payment_intent.capture',
      path: '/v1/payment_intents/*/capture',
      ready: authorized,
      asked: { call: 'payment_intents.capture' },
      answered: { payment_status: 'succeeded' },
      value: { amountCapturedMinor: 1999 },
    },
    intent(taken),
    [
      ['the intent as it was', intent()],
      ['another intent', intent({ ...taken, id: 'pi_2' })],
      ['another amount', intent({ ...taken, amount: 2000 })],
      ['another currency', intent({ ...taken, currency: 'usd' })],
      ['less taken than asked for', intent({ ...taken, amount_received: 1000 })],
      ['a canceled intent', intent({ status: 'canceled' })],
    ],
  ),
  adjust: callOf(
    {
      kind: 'payment_intent.increment_authorization',
      amount: 2499,
      path: '/v1/payment_intents/*/increment_authorization',
      ready: (adapter) => authorized(adapter, { captureMethod: 'manual' }),
      asked: { amount: 2499 },
    },
    intent(raised),
    [
      ['the intent as it was', intent()],
      ['another intent', intent({ ...raised, id: 'pi_2' })],
      ['less held than asked for', intent({ ...raised, amount_capturable: 1999 })],
      ['another currency', intent({ ...raised, currency: 'usd' })],
    ],
  ),
  cancel: callOf(
    {
      kind: 'payment_intent.cancel',
      path: '/v1/payment_intents/*/cancel',
      ready: authorized,
      confirmsNoAmount: true,
      asked: { call: 'payment_intents.cancel' },
      answered: { payment_status: 'canceled' },
      value: { reason: null },
    },
    intent({ status: 'canceled' }),
    [
      ['the intent as it was', intent()],
      ['another intent that was canceled', intent({ status: 'canceled', id: 'pi_2' })],
      ['a captured intent', intent(taken)],
    ],
  ),
  refund: callOf(
    {
      kind: 'refund.create',
      path: '/v1/refunds',
      ready: captured,
      asked: { call: 'refunds.create', amount: 1999 },
      answered: { refund_status: 'succeeded', amount: 1999 },
      value: { status: 'succeeded' },
    },
    refund(),
    [
      ['an object without an id', refund({ id: undefined })],
      ['an object of another kind', refund({ object: 'charge' })],
      ['another amount', refund({ amount: 2000 })],
      ['an amount as a text', refund({ amount: '1999' })],
      ['another currency', refund({ currency: 'usd' })],
      ['a refund in a status that we do not know', refund({ status: 'lost' })],
      ['a refund without a status', refund({ status: null })],
    ],
  ),
}
