// Tests with a real database and a real Stripe stand-in that the service uses no account but the one
// that its payments are in.
import { randomUUIDv7 } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { recordFirstAccount } from '../../src/db/operators/provider-accounts.ts'
import { guardAccount, WrongAccountError } from '../../src/provider/guards.ts'
import type { PaymentProvider } from '../../src/provider/payment-provider.ts'
import { createStripeProvider } from '../../src/provider/stripe/stripe-provider.ts'
import { answerJson, startAnsweringServer } from './contract/answering-server.ts'
import { t } from '../support/own-engine.ts'

const OTHER_KEY = 'sk_test_acctother_1'
const always = { from: new Date(0), to: new Date('2100-01-01T00:00:00Z') }

let lines: string[]

beforeEach(() => {
  lines = []
})

afterEach(async () => {
  await t.provider.control('POST', '/reset')
  await t.engine.store.sql`delete from provider_accounts`
})

function guarded(secretKey: string, apiBase = t.provider.url): PaymentProvider {
  const provider = createStripeProvider({ secretKey, apiBase, timeoutMs: 1_500 })
  const recordFirst = (account: string) =>
    recordFirstAccount(t.engine.store.sql, provider.name, account)
  return guardAccount(provider, {
    recordFirst,
    refused: ({ message }) => void lines.push(message),
    unchecked: () => void lines.push('not checked'),
  })
}

async function authorize(provider: PaymentProvider) {
  const ref = await t.accept()
  const payment = await t.readPayment(ref)
  const identity = { providerKey: randomUUIDv7(), operationId: ref.id, sendBeforeMs: Infinity }
  return await provider.calls.authorize.execute({ payment }, identity)
}

async function find(provider: PaymentProvider) {
  const ref = await t.accept()
  const payment = await t.readPayment(ref)
  return await provider.calls.authorize.find(
    { payment },
    {
      operationId: ref.id,
      executedFrom: new Date(),
      executedTo: new Date(),
      providerPaymentId: null,
      providerRefundId: null,
    },
  )
}

async function pagesOf(provider: PaymentProvider): Promise<number> {
  let pages = 0
  for await (const _ of provider.listPayments(always)) pages += 1
  return pages
}

describe('the account of the first call', () => {
  test('is recorded, and used by every later key of it', async () => {
    expect((await authorize(guarded('sk_test_mock'))).outcome).toBe('done')
    expect((await authorize(guarded('sk_test_rolled'))).outcome).toBe('done')

    expect(await t.engine.store.sql`select provider, account from provider_accounts`).toEqual([
      { provider: 'stripe', account: 'acct_default test' },
    ])
    expect(lines).toEqual([])
  })

  test('is read once by a process', async () => {
    const provider = guarded('sk_test_mock')
    await authorize(provider)
    await t.provider.addFault({ match: { path: '/v1/account' }, fault: 'unavailable', times: 100 })

    expect((await authorize(provider)).outcome).toBe('done')
  })
})

describe.each([
  ['another account', OTHER_KEY, 'acct_other test'],
  ['the other mode of the account', 'sk_live_mock', 'acct_default live'],
])('a key of %s', (_, secretKey, account) => {
  beforeEach(() => guarded('sk_test_mock').readAccount())

  test('makes no call: nothing is charged there', async () => {
    expect(await authorize(guarded(secretKey))).toMatchObject({
      outcome: 'not_executed',
      reason: expect.stringContaining(account) as unknown,
    })
    expect(await t.provider.executed()).toEqual([])
  })

  test('proves no absence: a lookup is unknown, and a comparison fails', async () => {
    const provider = guarded(secretKey)

    expect(await find(provider)).toMatchObject({ outcome: 'unknown', answered: { looked: false } })
    await expect(pagesOf(provider)).rejects.toThrow(WrongAccountError)
    await expect(provider.readPayment('pi_1')).rejects.toThrow(WrongAccountError)
    await expect(provider.readRefund('re_1')).rejects.toThrow(WrongAccountError)
  })

  test('is told once', async () => {
    const provider = guarded(secretKey)
    await authorize(provider)
    await authorize(provider)

    expect(lines.filter((line) => line.includes(account))).toHaveLength(1)
  })
})

test('an account that cannot be read is read again at the next call', async () => {
  await t.provider.addFault({ match: { path: '/v1/account' }, fault: 'unavailable', times: 2 })
  const provider = guarded('sk_test_mock')

  expect((await authorize(provider)).outcome).toBe('not_executed')
  // It is postponed, and uses up no check.
  expect(await find(provider)).toMatchObject({ outcome: 'unknown', notSent: true })
  expect((await authorize(provider)).outcome).toBe('done')
})

test.each([
  ['rk_test_no-account_1', 'done'],
  ['rk_test_acctOTHER_no-account_1', 'not_executed'],
])(
  'a restricted key that may not read its account is checked by the refusal: %s',
  async (...row) => {
    const [secretKey, outcome] = row
    await guarded('sk_test_mock').readAccount()

    expect((await authorize(guarded(secretKey))).outcome).toBe(outcome)
    expect(lines.filter((line) => line.includes('not checked'))).toEqual([])
  },
)

test('a restricted key whose account no answer names is used, with a warning', async () => {
  const error = { type: 'invalid_request_error', message: 'no permission' }
  const server = await startAnsweringServer(answerJson(403, { error }))

  const provider = guarded('rk_test_limited', server.url)

  expect(await provider.readAccount()).toBeUndefined()
  expect(await t.engine.store.sql`select from provider_accounts`).toHaveLength(0)
  expect(lines).toEqual(['not checked'])
  await server.close()
})

test('two processes that start at once record one account', async () => {
  const both = await Promise.all(['sk_test_1', OTHER_KEY].map((key) => authorize(guarded(key))))

  const outcomes = both.map(({ outcome }) => outcome).toSorted()
  expect(outcomes).toEqual(['done', 'not_executed'])
})
