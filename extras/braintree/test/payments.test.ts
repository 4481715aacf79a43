// To which provider a payment of a tenant with several goes, and that an amount means the same whichever
// provider charges it: what the card pays, by the log of the provider's stand-in, is what the client asked for.
// Each stand-in counts in the units of its provider.
import { randomInt, randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, test } from '@jest/globals'
import { inTransaction } from '../../../src/db/connection/transaction.ts'
import { assignCustomers } from '../../../src/db/tenants/provider-customers.ts'
import { setProviders } from '../../../src/db/tenants/tenants.ts'
import { currencies } from '../../../src/domain/payments/currency.ts'
import { countRows } from '../../../test/db/reservations.ts'
import { settingsFor, startStandIn } from './adapter-calls.ts'
import { paymentBody, post, postPayment } from '../../../test/support/client.ts'
import { startProcess } from '../../../test/support/processes.ts'
import { startServiceInProcess } from '../../../test/support/service-in-process.ts'
import type { Tenant } from '../../../test/support/service.ts'
import { forFile } from '../../../test/support/for-file.ts'
import { expectProblem } from '../../../test/http/payments.ts'

/** As openapi.yaml says it. */
const ZERO = 'bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf'.split(' ')
const THREE = 'bhd jod kwd omr tnd'.split(' ')
const decimalsOf = (currency: string) =>
  ZERO.includes(currency) ? 0 : THREE.includes(currency) ? 3 : 2

const METHODS = { stripe: 'pm_card_visa', braintree: 'fake-valid-nonce' }

const service = forFile(() =>
  startWithBraintree({
    BRAINTREE_MERCHANT_ACCOUNTS: currencies.map((code) => `${code}=${code}_account`).join(','),
    PROVIDER_BREAKER_FAILURES: '0',
  }),
)
let tenant: Tenant

async function startWithBraintree(settings: Record<string, string>) {
  const braintree = await startStandIn()
  const started = await startServiceInProcess({ ...settingsFor(braintree.url), ...settings })
  const stop = async () => {
    await started.stop()
    await braintree.close()
  }
  return { ...started, braintree, stop }
}

beforeEach(async () => {
  tenant = await service.createTenant()
  await Promise.all([service.provider.control('POST', '/reset'), resetBraintree()])
})

async function resetBraintree() {
  await service.braintree.control('POST', '/reset')
  await service.braintree.control('POST', '/settings', { duplicate_seconds: 0 })
}

/** As `npm run tenants -- providers` sets them, in this order. */
const route = (...providers: string[]) =>
  setProviders(
    service.store.sql,
    tenant.id,
    providers.map((provider) => ({ provider })),
  )

const pay = (fields: object, options = {}) => {
  const { payment_method: _one, ...others } = paymentBody({ payment_methods: METHODS, ...fields })
  return postPayment(service.apiUrl, tenant, others, options)
}

const logged = async () => {
  const logs = await Promise.all([service.provider.executed(), service.braintree.executed()])
  return logs.flat() as unknown as { kind: string; value: string; currency: string }[]
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

/** Of each currency an amount in whole units. */
const wholeAmounts = (): Asked[] => currencies.map((currency) => ({ amount: 50_000, currency }))

/** Of each currency any amount. */
const anyAmounts = (): Asked[] =>
  currencies.map((currency) => ({ amount: randomInt(20_000, 9_000_000), currency }))

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

    const charged = await payAll(anyAmounts())

    expect(charged.length).toBeGreaterThan(100)
    await expectPaid(charged)
  })

  test('at Braintree, and after a failover from Stripe', async () => {
    await route('braintree')
    const charged = await payAll(wholeAmounts())
    expect(charged.length).toBeGreaterThan(100)
    await expectPaid(charged)

    await resetBraintree()
    await route('stripe', 'braintree')
    await stripeIsAway(10_000)
    const again = charged.map(({ amount, currency }) => ({ amount, currency }))
    const moved = await payAll(again.filter((_, index) => index % 4 === 0))
    expect(moved.length).toBeGreaterThan(20)

    await expectPaid(moved)
  })

  test('at the first of two that accepts the amount', async () => {
    await route('braintree', 'stripe')

    const some = anyAmounts().filter((_, index) => index % 3 === 0)
    await expectPaid(await payAll(some))
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
    // The API remembers the providers of a key for some seconds.
    tenant = await service.createTenant()
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
  const sale = (await service.braintree.executed()).findLast(
    ({ kind }) => kind === 'transaction.sale',
  )
  await service.braintree.control('POST', `/transactions/${sale?.id}/status`, { status: 'settled' })
}

async function reconcile() {
  const [from, to] = [-3_600_000, 3_600_000].map((ms) => new Date(Date.now() + ms).toISOString())
  const process = startProcess('src/start/reconcile.ts', {
    args: ['--from', from ?? '', '--to', to ?? ''],
    env: {
      DATABASE_URL: service.databaseUrl,
      STRIPE_SECRET_KEY: 'sk_test_mock',
      STRIPE_API_BASE: service.provider.url,
      ...settingsFor(service.braintree.url),
    },
  })

  return await process.exited
}

describe('the provider of a new payment', () => {
  const PROVIDERS = [{ provider: 'braintree', currencies: ['eur'] }, { provider: 'stripe' }]

  async function stored() {
    const { sql } = service.store
    const [row] = await sql`
    select payments.provider, payments.payment_method, operation.parameters
    from idempotency_keys as operation
    join payments
      on payments.tenant_id = operation.tenant_id and payments.id = operation.payment_id
    where operation.tenant_id = ${tenant.id}
  `
    return row
  }

  describe('a payment of a tenant with two providers', () => {
    beforeEach(() => setProviders(service.store.sql, tenant.id, PROVIDERS))

    test('goes to the first that takes its currency, and has the second as fallback', async () => {
      await pay({ currency: 'eur' })

      expect(await stored()).toMatchObject({
        provider: 'braintree',
        payment_method: 'fake-valid-nonce',
        parameters: { fallback: { provider: 'stripe', payment_method: 'pm_card_visa' } },
      })
    })

    test('has no fallback that refuses its amount', async () => {
      await pay({ currency: 'eur', amount: 10 })

      expect(await stored()).toMatchObject({ provider: 'braintree', parameters: {} })
    })

    test('goes to the only one that takes its currency', async () => {
      const answer = await pay({ currency: 'usd' })

      expect(answer.json).toMatchObject({ provider: { name: 'stripe' } })
      expect(await stored()).toMatchObject({ payment_method: 'pm_card_visa', parameters: {} })
    })

    test('keeps its provider when those of the tenant change before a retry', async () => {
      const key = randomUUID()
      const first = await pay({ currency: 'usd' }, { key })
      await route('braintree')

      const retry = await pay({ currency: 'usd' }, { key })

      expect(retry.json['id']).toBe(first.json['id'])
      expect(await stored()).toMatchObject({ provider: 'stripe' })
    })
  })

  test('a customer of the first provider has no fallback', async () => {
    await route('stripe', 'braintree')
    const customers = [`cus_${randomUUID().replaceAll('-', '')}`]
    const assignment = { tenantId: tenant.id, provider: 'stripe', customers }
    await inTransaction(service.store.sql, (tx) => assignCustomers(tx, assignment))

    await pay({ currency: 'eur', customer: customers[0] })

    expect(await stored()).toMatchObject({ provider: 'stripe', parameters: {} })
  })

  test('nothing is written when no payment method is of a provider that takes the currency', async () => {
    await setProviders(service.store.sql, tenant.id, PROVIDERS.slice(0, 1))

    const answer = await pay({ currency: 'eur', payment_methods: { stripe: 'pm_1' } })

    expectProblem(answer, 'no-provider')
    expect(await countRows(service.store.sql, 'idempotency_keys', tenant.id)).toBe(0)
  })
})

describe.each([
  ['with keys it is sent again, and charges once', true],
  ['without keys it is looked up, and found', false],
])('a payment at Braintree: %s', (_title, hasKeys) => {
  const own = forFile(() => startWithBraintree({ BRAINTREE_REQUEST_KEYS: String(hasKeys) }))

  test('when its answer is lost', async () => {
    await own.braintree.control('POST', '/settings', { request_keys: hasKeys })
    const owner = await own.createTenant()
    await setProviders(own.store.sql, owner.id, [{ provider: 'braintree' }])
    const match = { method: 'POST', path: '/transactions' }
    await own.braintree.addFault({ match, fault: 'reset_after' })

    const body = paymentBody({ currency: 'eur', payment_method: 'fake-valid-nonce' })
    const answer = await postPayment(own.apiUrl, owner, body)

    expect(answer).toMatchObject({ status: 201, json: { status: 'succeeded' } })
    expect((await own.braintree.executed()).map(({ kind }) => kind)).toEqual([
      'transaction.sale',
      'transaction.submit_for_settlement',
    ])
    const sales = await own.store.sql`
      select id from phase_runs
      where tenant_id = ${owner.id} and asked ->> 'call' = 'transaction.sale'
    `
    expect(sales).toHaveLength(hasKeys ? 2 : 1)
  })
})
