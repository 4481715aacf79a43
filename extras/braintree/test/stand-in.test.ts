// Tests the stand-in with Braintree's unmodified package: it behaves as facts.md
// says, and not more nicely.
import braintree from 'braintree'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { KEYS, startStandIn, type RunningStandIn } from './adapter-calls.ts'

interface Result {
  readonly success: boolean
  readonly message?: string
  readonly transaction: Readonly<Record<string, unknown>> & { readonly id: string }
  readonly errors: { deepErrors(): { code: string }[] }
}

type Call = (...parameters: unknown[]) => Promise<Result>
type Client = Record<'transaction' | 'testing', Record<string, Call>>

let standIn: RunningStandIn
let nowMs = 1_800_000_000_000
let client: Client

function connect(): Client {
  const { port } = new URL(standIn.url)
  const Environment = braintree.Environment as unknown as new (
    ...parameters: unknown[]
  ) => braintree.Environment
  const environment = new Environment('127.0.0.1', port, '', false, '127.0.0.1', port)
  return new braintree.BraintreeGateway({ ...KEYS, environment }) as unknown as Client
}

beforeAll(async () => {
  standIn = await startStandIn(() => nowMs)
  client = connect()
})
beforeEach(async () => {
  nowMs = 1_800_000_000_000
  await standIn.control('POST', '/reset')
})
afterAll(async () => standIn.close())

const call = async (name: string, ...parameters: unknown[]) => {
  const method = client.transaction[name]
  if (method === undefined) throw new Error(`there is no ${name}`)
  return await method.call(client.transaction, ...parameters)
}
const sale = (fields: object = {}) =>
  call('sale', {
    amount: '19.99',
    paymentMethodNonce: 'fake-valid-nonce',
    merchantAccountId: 'eur_account',
    orderId: 'order-1',
    ...fields,
  })
const codesIn = ({ errors }: Result) => errors.deepErrors().map(({ code }) => code)

test('the same sale twice is a duplicate for 30 seconds, and then a second transaction', async () => {
  const first = await sale()
  const second = await sale()
  nowMs += 30_000
  const third = await sale()

  expect(first).toMatchObject({ success: true, transaction: { status: 'authorized' } })
  expect(second).toMatchObject({
    success: false,
    transaction: { status: 'gateway_rejected', gatewayRejectionReason: 'duplicate' },
  })
  expect(third.success).toBe(true)
  expect(third.transaction.id).not.toBe(first.transaction.id)
  expect(await standIn.executed()).toMatchObject([
    { kind: 'transaction.sale', id: first.transaction.id, amount: 1999, order_id: 'order-1' },
    { kind: 'transaction.sale', id: third.transaction.id },
  ])
})

test.each([
  ['another amount', { amount: '20.00' }],
  ['another order id', { orderId: 'order-2' }],
  ['another card', { paymentMethodNonce: 'fake-valid-mastercard-nonce' }],
])('a sale with %s is no duplicate', async (_case, fields) => {
  await sale()

  expect((await sale(fields)).success).toBe(true)
})

test.each(['authorized', 'submitted_for_settlement', 'settling', 'settled', 'voided'])(
  'a sale on the same card is a duplicate of one that is %s, also with another nonce',
  async (status) => {
    const { transaction } = await sale()
    await standIn.control('POST', `/transactions/${transaction.id}/status`, { status })

    const second = await sale({ paymentMethodNonce: 'fake-valid-visa-nonce' })

    expect(second.transaction).toMatchObject({ gatewayRejectionReason: 'duplicate' })
  },
)

test('PayPal refuses an order id that was used before, however long ago', async () => {
  const paypal = { paymentMethodNonce: 'fake-paypal-one-time-nonce' }
  await sale(paypal)
  nowMs += 86_400_000

  expect((await sale(paypal)).transaction).toMatchObject({ status: 'processor_declined' })
  expect((await sale({ ...paypal, orderId: 'order-2' })).success).toBe(true)
})

describe('with request keys', () => {
  const keyed = (fields: object = {}) => sale({ apiRequestKey: 'key-1', ...fields })
  beforeEach(() => standIn.control('POST', '/settings', { request_keys: true }))

  test('an account without them refuses every key', async () => {
    await standIn.control('POST', '/settings', { request_keys: false })

    expect(codesIn(await keyed())).toEqual(['915231'])
    expect(await standIn.executed()).toEqual([])
  })

  test('each call with a key is executed once, and answers with what is there now', async () => {
    const made = await keyed()
    const { id } = made.transaction
    const again = await keyed()
    const captures = [
      await call('submitForSettlement', id, '5.00', { apiRequestKey: 'key-2' }),
      await call('submitForSettlement', id, '5.00', { apiRequestKey: 'key-2' }),
    ]
    await client.testing['settle']?.call(client.testing, id)
    const refund = { amount: '5.00', apiRequestKey: 'key-3' }
    const refunds = [await call('refund', id, refund), await call('refund', id, refund)]
    const other = await sale({ orderId: 'order-2' })
    const voids = [
      await call('void', other.transaction.id, { apiRequestKey: 'key-4' }),
      await call('void', other.transaction.id, { apiRequestKey: 'key-4' }),
    ]

    expect([made, again, ...captures, ...refunds, ...voids].map(({ success }) => success)).toEqual(
      Array.from({ length: 8 }, () => true),
    )
    expect(again.transaction.id).toBe(id)
    expect(refunds[1]?.transaction.id).toBe(refunds[0]?.transaction.id)
    expect((await keyed()).transaction['status']).toBe('settled')
    expect((await standIn.executed()).map(({ kind }) => kind)).toEqual([
      'transaction.sale',
      'transaction.submit_for_settlement',
      'transaction.refund',
      'transaction.sale',
      'transaction.void',
    ])
  })

  test('a key is refused with other parameters, after a failure, and when it is too long', async () => {
    await keyed()
    await keyed({ apiRequestKey: 'key-2', paymentMethodNonce: 'unknown-nonce' })

    expect(codesIn(await keyed({ amount: '20.00' }))).toEqual(['915232'])
    const failed = { apiRequestKey: 'key-2', paymentMethodNonce: 'unknown-nonce' }
    expect(codesIn(await keyed(failed))).toEqual(['915234'])
    expect(codesIn(await keyed({ apiRequestKey: 'k'.repeat(256) }))).toEqual(['915230'])
  })

  test('a key is forgotten after 30 days', async () => {
    const first = await keyed()
    nowMs += 30 * 86_400_000

    expect((await keyed()).transaction.id).not.toBe(first.transaction.id)
  })
})

test('a refund twice makes two refunds', async () => {
  const { transaction } = await sale()
  await call('submitForSettlement', transaction.id)
  await client.testing['settle']?.call(client.testing, transaction.id)

  const first = await call('refund', transaction.id, { amount: '5.00', orderId: 'refund-1' })
  const second = await call('refund', transaction.id, { amount: '5.00', orderId: 'refund-1' })

  expect([first.success, second.success]).toEqual([true, true])
  expect(first.transaction).toMatchObject({
    type: 'credit',
    orderId: 'refund-1',
    refundedTransactionId: transaction.id,
  })
  const found = (await call('find', transaction.id)) as unknown as Result['transaction']
  expect(found['refundIds']).toEqual([first.transaction.id, second.transaction.id])
})

test.each([
  ['submitForSettlement', 'voided', [], '91507'],
  ['submitForSettlement', 'authorized', ['20.00'], '91522'],
  ['submitForSettlement', 'authorized', ['5.123'], '81503'],
  ['submitForSettlement', 'authorized', ['0.00'], '81531'],
  ['void', 'settled', [], '91504'],
  ['refund', 'submitted_for_settlement', ['5.00'], '91506'],
  ['refund', 'settled', ['20.00'], '91521'],
  ['adjustAuthorization', 'voided', ['20.00'], '915218'],
  ['adjustAuthorization', 'authorized', ['19.99'], '95606'],
])('%s of what is %s, with %j, is refused: %s', async (name, status, parameters, code) => {
  const { transaction } = await sale()
  await standIn.control('POST', `/transactions/${transaction.id}/status`, { status })
  const before = await standIn.executed()

  const refused = await call(name, transaction.id, ...parameters)

  expect(refused.success).toBe(false)
  expect(codesIn(refused)).toEqual([code])
  expect(await standIn.executed()).toEqual(before)
})

test.each([
  ['jpy', '1999', '1999'],
  ['isk', '1999', '1999'],
  ['lak', '1999', '1999'],
  ['eur', '19', '19.00'],
  ['cve', '19.99', '19.99'],
])('an amount in %s is written as %s', async (currency, amount, shown) => {
  const made = await sale({ amount, merchantAccountId: `${currency}_account` })

  expect(made.transaction['amount']).toBe(shown)
  expect(await standIn.executed()).toMatchObject([{ currency, value: shown }])
})

test.each([
  ['isk', '19.99', '81503'],
  ['jpy', '1999.00', '81503'],
  ['eur', '19.9', '81503'],
  ['mga', '1999', '91513'],
  ['kwd', '1.999', '91513'],
])('an amount in %s of %s is refused: %s', async (currency, amount, code) => {
  const refused = await sale({ amount, merchantAccountId: `${currency}_account` })

  expect(codesIn(refused)).toEqual([code])
})

test('the package finds transactions with its own search, newest first', async () => {
  await sale()
  const { transaction } = await sale({ amount: '20.00' })
  await sale({ orderId: 'order-2' })

  const found: string[] = []
  const search = (fields: { orderId(): { is(text: string): void } }) => {
    fields.orderId().is('order-1')
  }
  const stream = (await call('search', search)) as unknown as AsyncIterable<{ id: string }>
  for await (const { id } of stream) found.push(id)

  expect(found).toHaveLength(2)
  expect(found[0]).toBe(transaction.id)
})

test.each([
  ['a wrong private key', { privateKey: 'wrong' }, 'Authentication Error'],
  ['an unknown transaction', {}, 'Not Found'],
])('%s is an error of the package: %s', async (_case, keys, message) => {
  const { port } = new URL(standIn.url)
  const environment = { server: '127.0.0.1', port, ssl: false }
  const other = new braintree.BraintreeGateway({ ...KEYS, ...keys, environment } as never)

  await expect(other.transaction.find('unknown-id')).rejects.toThrow(message)
})
