// The Braintree adapter for the contract tests.
import type { RequestListener } from 'node:http'
import braintree from 'braintree'
import { renderXml, type Member } from '../stand-in/requests/xml.ts'
import type { Payment } from '../../../src/domain/payments/payment.ts'
import { showOrderId } from '../order-id.ts'
import { createBraintreeEventReader } from '../webhooks.ts'
import type { CallIdentity } from '../../../src/provider/calls.ts'
import { answerJson, answerText } from '../../../test/provider/contract/answering-server.ts'
import type {
  ContractCall,
  ContractStandIn,
  ProviderFixture,
} from '../../../test/provider/contract/fixture.ts'
import { refundOf } from '../../../test/provider/contract/payments.ts'
import { adapterFor, authorized, KEYS, paymentOf, settled, startStandIn } from './adapter-calls.ts'

const ID = 'known1'
const XML = 'application/xml; charset=utf-8'

const answerXml = (status: number, root: string, members: Member): RequestListener =>
  answerText(status, renderXml(root, members), XML)

type Members = Readonly<Record<string, Member>>
type Answer = (payment: Payment, identity: CallIdentity) => RequestListener

/** The sale of the payment, except for the given members. */
function sale(fields: Members): Answer {
  return (payment, { operationId }) => {
    const { tenantId, id: paymentId } = payment
    const orderId = showOrderId({ tenantId, paymentId, operationId, refundId: null })
    const members = { id: ID, type: 'sale', status: 'authorized', orderId, refundIds: [] }
    const money = { amount: '19.99', currencyIsoCode: 'EUR', createdAt: new Date() }
    return answerXml(200, 'transaction', { ...members, ...money, ...fields })
  }
}

/** The refund of the payment, except for the given members. */
function credit(fields: Members): Answer {
  return (payment, { operationId }) => {
    const { tenantId, paymentId, id: refundId } = refundOf(payment)
    const orderId = showOrderId({ tenantId, paymentId, operationId, refundId })
    const members = { id: 'refund1', type: 'credit', status: 'settled', orderId }
    const money = { amount: '19.99', currencyIsoCode: 'EUR', createdAt: new Date() }
    return answerXml(201, 'transaction', {
      ...members,
      ...money,
      refundedTransactionId: ID,
      ...fields,
    })
  }
}

/** Another operation, whose payment is the same. */
const otherOrder: Answer = (payment, identity) =>
  sale({})(payment, { ...identity, operationId: payment.id })
const otherPayment =
  (fields: Members): Answer =>
  (payment, identity) =>
    sale(fields)({ ...payment, id: identity.operationId }, identity)

const foreign: readonly (readonly [string, RequestListener])[] = [
  ['nothing', answerText(200, '', XML)],
  ['spaces', answerText(200, '  ', XML)],
  ['a text', answerText(200, 'OK', 'text/plain')],
  ['XML that ends early', answerText(200, '<transaction><id>', XML)],
  ['XML of another kind', answerXml(200, 'customer', { id: ID })],
  ['an empty transaction', answerXml(200, 'transaction', {})],
  ['JSON', answerJson(200, { transaction: { id: ID } })],
  ['null as JSON', answerJson(200, null)],
  ['malformed JSON', answerText(200, '{"transaction":', 'application/json')],
  ['errors of no kind', answerXml(422, 'apiErrorResponse', { message: 'no' })],
]

type Changed = readonly (readonly [title: string, members: Members])[]

function callOf(
  parts: Omit<ContractCall, 'wrong' | 'right'>,
  answer: (fields: Members) => Answer,
  wrong: Changed,
  others: readonly (readonly [string, Answer])[] = [],
): ContractCall {
  const ofAnswer = wrong.map(([title, members]) => [title, answer(members)] as const)
  const ofOthers = foreign.map(([title, listener]) => [title, () => listener] as const)
  return { ...parts, right: answer({}), wrong: [...ofAnswer, ...others, ...ofOthers] }
}

const always: Changed = [
  ['a transaction without an id', { id: null }],
  ['another currency', { currencyIsoCode: 'USD' }],
  ['no amount', { amount: null }],
  ['an amount with a fraction of a cent', { amount: '19.991' }],
  ['a status that we do not know', { status: 'lost' }],
  ['no time', { createdAt: null }],
]
/** Of a call that changes a transaction. */
const ofKnown: Changed = [...always, ['another transaction', { id: 'known2' }]]

const put = (name: string) => ({ method: 'PUT', path: `/transactions/*/${name}` })
const captured = (fields: Members) => sale({ status: 'submitted_for_settlement', ...fields })
const raised = (fields: Members) => sale({ amount: '24.99', ...fields })
const voided = (fields: Members) => sale({ status: 'voided', ...fields })

const held = (adapter: ReturnType<typeof adapterFor>) => authorized(adapter)

const calls: ProviderFixture['calls'] = {
  authorize: callOf(
    {
      kind: 'transaction.sale',
      amount: 1999,
      request: { method: 'POST', path: '/transactions' },
      ready: async () => paymentOf(),
    },
    sale,
    [
      ...always,
      ['another amount', { amount: '20.00' }],
      ['the amount without a decimal point', { amount: '1999' }],
      ['less than asked for', { amount: '10.00' }],
      ['a sale that was captured at once', { status: 'submitted_for_settlement' }],
      ['a sale that is being authorized', { status: 'authorizing' }],
      ['a voided sale', { status: 'voided' }],
      ['a credit', { type: 'credit' }],
    ],
    [
      ['the order id of another operation', otherOrder],
      ['the order id of another payment', otherPayment({})],
    ],
  ),
  capture: callOf(
    {
      kind: 'transaction.submit_for_settlement',
      amount: 1999,
      request: put('submit_for_settlement'),
      ready: held,
    },
    captured,
    [
      ...ofKnown,
      ['less captured than asked for', { amount: '10.00' }],
      ['the sale as it was', { status: 'authorized' }],
      ['a voided sale', { status: 'voided' }],
    ],
    [['another payment', otherPayment({ status: 'submitted_for_settlement' })]],
  ),
  adjust: callOf(
    {
      kind: 'transaction.adjust_authorization',
      amount: 2499,
      request: put('adjust_authorization'),
      ready: held,
    },
    raised,
    [...ofKnown, ['the amount as it was', { amount: '19.99' }], ['voided', { status: 'voided' }]],
  ),
  cancel: callOf(
    {
      kind: 'transaction.void',
      amount: 1999,
      request: put('void'),
      confirmsNoAmount: true,
      ready: held,
    },
    voided,
    [
      ...ofKnown,
      ['the sale as it was', { status: 'authorized' }],
      ['a captured sale', { status: 'settling' }],
    ],
    [['another payment', otherPayment({ status: 'voided' })]],
  ),
  refund: callOf(
    {
      kind: 'transaction.refund',
      amount: 1999,
      request: { method: 'POST', path: '/transactions/*/refund' },
      ready: (adapter, standIn) => settled(adapter, standIn as never),
    },
    credit,
    [
      ...always,
      ['another amount', { amount: '20.00' }],
      ['another order id', { orderId: 'order' }],
      ['the refund of another sale', { refundedTransactionId: 'known2' }],
      ['a sale', { type: 'sale' }],
    ],
  ),
}

const refusals = (
  [
    [401, 'not_executed'],
    [403, 'not_executed'],
    [404, 'not_executed'],
    [426, 'not_executed'],
    [429, 'not_executed'],
    [400, 'unknown'],
    [402, 'unknown'],
    [408, 'unknown'],
    [409, 'unknown'],
    [500, 'unknown'],
    [502, 'unknown'],
    [503, 'unknown'],
    [504, 'unknown'],
  ] as const
).map(([status, outcome]) => [String(status), outcome, answerText(status, '', XML)] as const)

const searchResults = (ids: Member) => answerXml(200, 'searchResults', { pageSize: 50, ids })

const noResults: readonly (readonly [string, RequestListener])[] = [
  ['nothing', answerText(200, '', XML)],
  ['a text', answerText(200, 'OK', 'text/plain')],
  ['malformed JSON', answerText(200, '{', 'application/json')],
  ['ids that are none', searchResults(['a b'])],
  ['the same id twice', searchResults([ID, ID])],
  ['ids whose transactions are missing', searchResults([ID])],
  ['no page size', answerXml(200, 'searchResults', { ids: [] })],
  ['no ids', answerXml(200, 'searchResults', { pageSize: 50 })],
  ['errors', answerXml(422, 'apiErrorResponse', { message: 'no' })],
]

const implausible = [
  ...noResults,
  ...[400, 401, 403, 404, 408, 429, 500, 503, 504].map(
    (status): readonly [string, RequestListener] => [String(status), answerText(status, '', XML)],
  ),
  ['an empty transaction', answerXml(200, 'transaction', {})] as const,
]

const { webhookTesting } = new braintree.BraintreeGateway({
  ...KEYS,
  environment: braintree.Environment.Sandbox,
})
const sign = (payload: string) =>
  (webhookTesting as unknown as { sampleSignature(payload: string): string }).sampleSignature(
    payload,
  )

function formOf(payload: string, signature = sign(payload)) {
  const body = new URLSearchParams({ bt_signature: signature, bt_payload: payload })
  return { body: body.toString(), signature: undefined }
}

/** @param members of the notification. */
export function notificationOf(members: Readonly<Record<string, Member>>) {
  return formOf(`${Buffer.from(renderXml('notification', members)).toString('base64')}\n`)
}

const CARD = 'cardholder_of_a_card'

function signed({ tenantId, id: paymentId, providerPaymentId }: Payment, timestamp = new Date()) {
  const correlation = { tenantId, paymentId, operationId: paymentId, refundId: null }
  const transaction = {
    id: providerPaymentId,
    orderId: showOrderId(correlation),
    creditCard: { bin: '411111', cardholderName: CARD },
  }
  const kind = 'transaction_settled'
  return notificationOf({ kind, timestamp, subject: { transaction } })
}

const payloadIn = (body: string) => new URLSearchParams(body).get('bt_payload') ?? ''
const otherKeys = createOtherSignature()

/** As another merchant would sign it. */
function createOtherSignature() {
  const other = new braintree.BraintreeGateway({
    ...KEYS,
    privateKey: 'other',
    environment: braintree.Environment.Sandbox,
  })
  const testing = other.webhookTesting as unknown as { sampleSignature(payload: string): string }
  return (payload: string) => testing.sampleSignature(payload)
}

const read = createBraintreeEventReader({ ...KEYS, now: Date.now })

export const fixture = {
  name: 'braintree',
  adapterFor,
  paymentOf,
  startStandIn: async (systemNow): Promise<ContractStandIn> => {
    const standIn = await startStandIn(systemNow)
    return {
      ...standIn,
      advance: async (seconds) =>
        void (await standIn.control('POST', '/clock', { advance_seconds: seconds })),
      reset: async () => void (await standIn.control('POST', '/reset')),
    }
  },
  knownId: ID,
  secret: KEYS.privateKey,
  calls,
  refusals,
  reads: {},
  implausible,
  noPages: noResults,
  pageSize: 50,
  declinedMethod: 'fake-processor-declined-visa-nonce',
  events: {
    read: async ({ body }) => await read(Buffer.from(body)),
    signed,
    card: CARD,
    forged: [
      ['nothing', () => ({ body: '', signature: undefined })],
      ['no signature', ({ body }) => formOf(payloadIn(body), '')],
      ['another key', ({ body }) => formOf(payloadIn(body), otherKeys(payloadIn(body)))],
      [
        'the signature of another public key',
        ({ body }) => formOf(payloadIn(body), `other|${sign(payloadIn(body)).split('|')[1]}`),
      ],
      ['a changed payload', ({ body }) => formOf(`A${payloadIn(body)}`, sign(payloadIn(body)))],
    ],
    malformed: [
      ['no XML', () => formOf(Buffer.from('nothing').toString('base64'))],
      ['another document', () => formOf(Buffer.from('<a><b/></a>').toString('base64'))],
      ['no time', () => notificationOf({ kind: 'check', subject: { check: true } })],
      ['no kind', () => notificationOf({ timestamp: new Date(), subject: { check: true } })],
    ],
  },
} satisfies ProviderFixture
