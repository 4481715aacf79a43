// The Stripe adapter for the contract tests.
import type { RequestListener } from 'node:http'
import Stripe from 'stripe'
import { showPaymentId, type Payment } from '../../../src/domain/payments/payment.ts'
import { createStripeEventReader } from '../../../src/provider/stripe/webhooks.ts'
import { startProvider } from '../../dev/stripe-stand-in/running-provider.ts'
import { answerJson } from '../contract/answering-server.ts'
import type { ContractStandIn, ProviderFixture } from '../contract/fixture.ts'
import { adapterFor, paymentOf, SECRET_KEY } from './adapter-calls.ts'
import { charge, intent } from './answered.ts'
import { calls } from './calls.ts'

async function startStandIn(systemNow: () => number): Promise<ContractStandIn> {
  const provider = await startProvider({ systemNow })
  return {
    url: provider.url,
    addFault: async (rule) => provider.addFault(rule),
    executed: async () => provider.executed(),
    advance: async (seconds) =>
      void (await provider.control('POST', '/clock', { advance_seconds: seconds })),
    reset: async () => void (await provider.control('POST', '/reset')),
    close: async () => provider.close(),
  }
}

const invalid = { type: 'invalid_request_error', message: 'no' }

const refusals = (
  [
    [401, 'not_executed', { error: invalid }],
    [403, 'not_executed', { error: invalid }],
    [429, 'not_executed', { error: invalid }],
    [400, 'unknown', { error: { type: 'idempotency_error', message: 'no' } }],
    [409, 'unknown', { error: invalid }],
    [500, 'unknown', { error: { type: 'api_error', message: 'no' } }],
    [400, 'unknown', { error: 'Bad Request' }],
    [402, 'unknown', { error: { message: 'Payment required' } }],
    [403, 'unknown', { error: 'Forbidden' }],
    [404, 'unknown', { message: 'no route' }],
    [502, 'unknown', { message: 'bad gateway' }],
    [200, 'unknown', { error: true }],
  ] as const
).map(
  ([status, outcome, body]) =>
    [`${status} with ${JSON.stringify(body)}`, outcome, answerJson(status, body)] as const,
)

const titled = (status: number, body: unknown): readonly [string, RequestListener] => [
  `${status} with ${JSON.stringify(body)}`,
  answerJson(status, body),
]

const error = { type: 'invalid_request_error', message: 'No.', code: 'resource_missing' }
const implausible = [
  ...[
    null,
    [],
    7,
    {},
    { object: 'list', data: [] },
    { object: 'list', data: {}, has_more: false },
    { object: 'list', data: [{ id: 'pi_1' }], has_more: false },
    { object: 'list', data: [{ id: 'pi_1', metadata: {} }], has_more: true },
    { object: 'list', data: [], has_more: true },
  ].map((body) => titled(200, body)),
  ...[400, 401, 402, 403, 404, 409, 429, 500].map((status) => titled(status, { error })),
]

const noPages = [
  null,
  [],
  7,
  { id: 'pi_1', object: 'payment_intent' },
  { object: 'list', data: [] },
  { object: 'list', has_more: false },
  { object: 'list', data: [null], has_more: false },
  { object: 'list', data: [{ object: 'payment_intent' }], has_more: false },
  { object: 'list', data: [], has_more: true },
].map((body) => titled(200, body))

const NOW_SECONDS = 1_800_000_000
const EVENT_SECRET = 'whsec_test'
const read = createStripeEventReader({ secret: EVENT_SECRET, now: () => NOW_SECONDS * 1_000 })

function sign(payload: string, secret = EVENT_SECRET) {
  return Stripe.webhooks.generateTestHeaderString({ payload, secret, timestamp: NOW_SECONDS })
}

function signed({ tenantId, id, providerPaymentId }: Payment) {
  const metadata = { atomic_tenant: tenantId, atomic_payment: showPaymentId(id) }
  const card = { last4: '4242', fingerprint: 'fingerprint_of_a_card' }
  const object = { id: providerPaymentId, object: 'payment_intent', metadata, card }
  const type = 'payment_intent.succeeded'
  const event = { id: 'evt_1', object: 'event', type, created: NOW_SECONDS, data: { object } }
  const body = JSON.stringify(event)
  return { body, signature: sign(body) }
}

export const stripeFixture: ProviderFixture = {
  name: 'stripe',
  adapterFor,
  paymentOf,
  startStandIn,
  knownId: 'pi_1',
  secret: SECRET_KEY,
  calls,
  readBefore: answerJson(200, intent({ latest_charge: charge() })),
  refusals,
  reads: { method: 'GET' },
  implausible,
  noPages,
  pageSize: 100,
  declinedMethod: 'pm_card_chargeDeclinedLostCard',
  events: {
    read: async ({ body, signature }) => read(Buffer.from(body), signature),
    signed,
    card: 'fingerprint_of_a_card',
    forged: [
      ['no signature', ({ body }) => ({ body, signature: undefined })],
      ['an empty one', ({ body }) => ({ body, signature: '' })],
      ['another secret', ({ body }) => ({ body, signature: sign(body, 'whsec_other') })],
      ['a changed body', ({ body, ...event }) => ({ ...event, body: body.replace('pi_', 'pi_x') })],
    ],
    malformed: ['{', '[]', '{"object":"charge"}'].map((body) => [
      body,
      () => ({ body, signature: sign(body) }),
    ]),
  },
}
