// Tests that an amount means the same whichever provider charges it: what the card pays, by the log of
// the provider's stand-in, is what the client asked for. Each stand-in counts in the units of its
// provider.
import { randomInt, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { setProviders } from '../../../src/db/tenants/tenants.ts'
import { currencies } from '../../../src/domain/payments/currency.ts'
import { countRows } from '../../db/reservations.ts'
import {
  settingsFor,
  startStandIn,
  type RunningStandIn,
} from '../../provider/braintree/adapter-calls.ts'
import { paymentBody, post, postPayment } from '../../support/client.ts'
import { startProcess } from '../../support/processes.ts'
import { startServiceInProcess, type ServiceInProcess } from '../../support/service-in-process.ts'
import type { Tenant } from '../../support/service.ts'
import { expectProblem } from '../payments.ts'

/** As openapi.yaml says it. */
const ZERO = 'bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf'.split(' ')
const THREE = 'bhd jod kwd omr tnd'.split(' ')
const decimalsOf = (currency: string) =>
  ZERO.includes(currency) ? 0 : THREE.includes(currency) ? 3 : 2

const METHODS = { stripe: 'pm_card_visa', braintree: 'fake-valid-nonce' }

let braintree: RunningStandIn
let service: ServiceInProcess
let tenant: Tenant

beforeAll(async () => {
  braintree = await startStandIn()
  service = await startServiceInProcess({
    ...settingsFor(braintree.url),
    BRAINTREE_MERCHANT_ACCOUNTS: currencies.map((code) => `${code}=${code}_account`).join(','),
    PROVIDER_BREAKER_FAILURES: '0',
  })
})
beforeEach(async () => {
  tenant = await service.createTenant({ basisPoints: 0, fixedMinor: 0 })
  await Promise.all([service.provider.control('POST', '/reset'), resetBraintree()])
})
afterAll(async () => {
  await service.stop()
  await braintree.close()
})

async function resetBraintree() {
  await braintree.control('POST', '/reset')
  await braintree.control('POST', '/settings', { duplicate_seconds: 0 })
}

/** As `npm run tenants -- providers` sets them, in this order. */
const route = (...providers: string[]) =>
  setProviders(
    service.store.sql,
    tenant.id,
    providers.map((provider) => ({ provider })),
  )

const pay = (fields: object) => {
  const { payment_method: _one, ...others } = paymentBody({ payment_methods: METHODS, ...fields })
  return postPayment(service.apiUrl, tenant, others, { key: randomUUID() })
}

interface Logged {
  readonly kind: string
  readonly value: string
  readonly currency: string
}
const logged = async () => {
  const logs = await Promise.all([service.provider.executed(), braintree.executed()])
  return logs.flat() as unknown as Logged[]
}

/** A payment that may move goes on at once, any other one waits. */
const stripeIsAway = (times = 3) =>
  service.provider.addFault({
    match: { method: 'POST', path: '/v1/payment_intents' },
    fault: 'rate_limited',
    times,
  })

/** 500 and 500.00 are the same money. */
const thousandths = (value: string) => {
  const [whole = '', fraction = ''] = value.split('.')
  return BigInt(whole + fraction.padEnd(3, '0'))
}

interface Asked {
  readonly amount: number
  readonly currency: string
}

/** Of each currency an amount in whole units, and any amount. */
const everyCurrency = (): Asked[] =>
  currencies.flatMap((currency) => [
    { amount: 50_000, currency },
    { amount: randomInt(20_000, 9_000_000), currency },
  ])

const AT_ONCE = 10

/** Sends the payments, some at a time. Returns those that were charged. */
async function payAll(all: readonly Asked[]): Promise<(Asked & { id: string })[]> {
  const charged: (Asked & { id: string })[] = []
  for (let sent = 0; sent < all.length; sent += AT_ONCE) {
    const batch = all.slice(sent, sent + AT_ONCE)
    const answers = await Promise.all(batch.map(pay))
    for (const [index, { status, json }] of answers.entries()) {
      // Declined by the provider, or refused before anything was written.
      expect([201, 402, 422]).toContain(status)
      const asked = batch[index]
      if (status === 201 && asked) charged.push({ ...asked, id: String(json['id']) })
    }
  }
  return charged
}

/** Each entry of the logs is of what a client asked for, and each payment has two. */
async function expectPaid(payments: readonly (Asked & { id: string })[]) {
  const entries = (await logged()).map((entry) => ({ ...entry, text: JSON.stringify(entry) }))
  const wrong = payments.filter(({ id, amount, currency }) => {
    const asked = BigInt(amount) * 10n ** BigInt(3 - decimalsOf(currency))
    const own = entries.filter(({ text }) => text.includes(id))
    const right = own.filter(
      (entry) => entry.currency === currency && thousandths(entry.value) === asked,
    )
    return own.length !== 2 || right.length !== 2
  })
  expect(wrong).toEqual([])
  expect(entries).toHaveLength(payments.length * 2)
}

describe('in every currency the card pays what the client asked for', () => {
  test('at Stripe', async () => {
    await route('stripe')

    const charged = await payAll(everyCurrency())

    expect(charged.length).toBeGreaterThan(200)
    await expectPaid(charged)
  })

  test('at Braintree, and after a failover from Stripe', async () => {
    await route('braintree')
    const charged = await payAll(everyCurrency())
    expect(charged.length).toBeGreaterThan(200)
    await expectPaid(charged)

    await resetBraintree()
    await route('stripe', 'braintree')
    await stripeIsAway(10_000)
    const moved = await payAll(charged)

    await expectPaid(moved)
  })

  test('at the first of two that accepts the amount', async () => {
    await route('braintree', 'stripe')

    await expectPaid(await payAll(everyCurrency()))
  })
})

test.each([
  ['isk', 50_000, '500'],
  ['ugx', 50_000, '500'],
  ['lak', 50_000, '500'],
  ['jpy', 500, '500'],
  ['idr', 50_000, '500.00'],
])('%s: %d moves from Stripe to Braintree as %s', async (currency, amount, value) => {
  await route('stripe', 'braintree')
  await stripeIsAway()

  const answer = await pay({ amount, currency })

  expect(answer).toMatchObject({ status: 201, json: { amount, amount_captured: amount } })
  expect(answer.json['provider']).toMatchObject({ name: 'braintree' })
  expect(await logged()).toMatchObject([
    { kind: 'transaction.sale', value },
    { kind: 'transaction.submit_for_settlement', value },
  ])
})

describe('what Braintree cannot express', () => {
  test.each([
    ['a currency that it does not take', { currency: 'mga', amount: 5_000 }, 'no-provider'],
    ['a currency with three decimals', { currency: 'kwd', amount: 5_000 }, 'no-provider'],
    ['a fraction of what has no decimals', { currency: 'lak', amount: 50_050 }, 'invalid-amount'],
  ] as const)('is refused before anything is written: %s', async (_case, fields, problem) => {
    await route('braintree')

    expectProblem(await pay(fields), problem)

    for (const table of ['payments', 'idempotency_keys', 'events']) {
      expect(await countRows(service.store.sql, table, tenant.id)).toBe(0)
    }
  })

  test.each([
    ['mga', 5_000, '5000'],
    ['kwd', 5_000, '5.000'],
    ['lak', 50_050, '500.50'],
  ])('is charged by the next provider: %s', async (currency, amount, value) => {
    await route('braintree', 'stripe')

    const answer = await pay({ currency, amount })

    expect(answer.json['provider']).toMatchObject({ name: 'stripe' })
    expect((await logged()).map((entry) => entry.value)).toEqual([value, value])
  })

  test('has no fallback there', async () => {
    await route('stripe', 'braintree')
    await stripeIsAway()

    const answer = await pay({ currency: 'mga', amount: 5_000 })

    expect(answer.json['provider']).toMatchObject({ name: 'stripe' })
  })
})

const LATER = [
  ['stripe', 'isk', ['1000.00', '1200.00', '700.00', '200.00']],
  ['stripe', 'mga', ['100000', '120000', '70000', '20000']],
  ['braintree', 'isk', ['1000', '1200', '700', '200']],
  ['braintree', 'lak', ['1000', '1200', '700', '200']],
  ['braintree', 'jpy', ['100000', '120000', '70000', '20000']],
  ['braintree', 'idr', ['1000.00', '1200.00', '700.00', '200.00']],
] as const

test('later operations and the reconciliation read and write the same amounts', async () => {
  await service.store.sql`truncate idempotency_keys, payments cascade`
  for (const [provider, currency, values] of LATER) {
    await route(provider)
    const before = (await logged()).length
    const held = await pay({ amount: 100_000, currency, capture_method: 'manual' })
    const id = String(held.json['id'])
    const act = (action: string, amount: number) =>
      post(service.apiUrl, tenant, `/v1/payments/${id}/${action}`, { amount })

    const adjusted = await act('adjust', 120_000)
    const captured = await act('capture', 70_000)
    if (provider === 'braintree') await settle()
    const refunded = await act('refunds', 20_000)

    expect(adjusted.json).toMatchObject({ amount: 120_000 })
    expect(captured.json).toMatchObject({ amount_captured: 70_000, currency })
    expect(refunded.json).toMatchObject({ amount: 20_000, currency })
    const moved = (await logged()).filter((entry) => JSON.stringify(entry).includes(id))
    expect([currency, moved.map((entry) => entry.value)]).toEqual([currency, values])
    expect(await logged()).toHaveLength(before + 4)
  }

  expect(await reconcile()).toMatchObject({ code: 0 })
})

async function settle() {
  const sale = (await braintree.executed()).findLast(({ kind }) => kind === 'transaction.sale')
  await braintree.control('POST', `/transactions/${sale?.id}/status`, { status: 'settled' })
}

async function reconcile() {
  const [from, to] = [-3_600_000, 3_600_000].map((ms) => new Date(Date.now() + ms).toISOString())
  const process = startProcess('src/start/reconcile.ts', {
    args: ['--from', from ?? '', '--to', to ?? ''],
    env: {
      DATABASE_URL: service.databaseUrl,
      STRIPE_SECRET_KEY: 'sk_test_mock',
      STRIPE_API_BASE: service.provider.url,
      ...settingsFor(braintree.url),
    },
  })
  const { code } = await process.exited
  return { code, text: process.lines.join('\n') }
}
