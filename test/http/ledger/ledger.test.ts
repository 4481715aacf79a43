// The ledger endpoints: transactions, balances and fees.
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from '@jest/globals'
import { insertProviderFeesIfNew } from '../../../src/db/ledger/provider-fees.ts'
import { postingOfProviderFee } from '../../../src/domain/ledger/ledger.ts'
import { parsePaymentId } from '../../../src/domain/payments/payment.ts'
import { get, paymentBody, post, postPayment } from '../../support/client.ts'
import { startProcess } from '../../support/processes.ts'
import { service, tenant } from '../../support/shared-service.ts'
import type { Tenant } from '../../support/service.ts'
import { expectProblem, makePayment, type ShownPayment } from '../payments.ts'

interface Entry {
  readonly account: string
  readonly amount: number
  readonly currency: string
}

interface ShownTransaction {
  readonly id: string
  readonly kind: string
  readonly payment: string
  readonly entries: readonly Entry[]
  readonly created_at: string
}

async function listTransactions(query = '', owner = tenant): Promise<ShownTransaction[]> {
  const { json } = await get(service.apiUrl, owner, `/v1/ledger/transactions?${query}`)
  return json['data'] as ShownTransaction[]
}

async function balancesOf(owner: Tenant): Promise<Entry[]> {
  const { json } = await get(service.apiUrl, owner, '/v1/ledger/balances')
  return json['data'] as Entry[]
}

const refund = (payment: ShownPayment, amount: number, owner = tenant) =>
  post(service.apiUrl, owner, `/v1/payments/${payment.id}/refunds`, { amount })

describe('a ledger transaction', () => {
  test('of a capture has two entries that sum to zero', async () => {
    const payment = await makePayment(service, tenant, 'succeeded')

    expect(await listTransactions(`payment=${payment.id}`)).toEqual([
      {
        id: expect.stringMatching(/^ltx_[0-9a-z]{26}$/),
        object: 'ledger_transaction',
        kind: 'capture',
        payment: payment.id,
        refund: null,
        dispute: null,
        entries: [
          { account: 'provider_receivable', amount: 1999, currency: 'usd' },
          { account: 'merchant_payable', amount: -1999, currency: 'usd' },
        ],
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      },
    ])
  })

  test('of a refund names the refund', async () => {
    const payment = await makePayment(service, tenant, 'succeeded')
    const refunded = await refund(payment, 500)

    expect(await listTransactions(`payment=${payment.id}&kind=refund`)).toMatchObject([
      {
        kind: 'refund',
        payment: payment.id,
        refund: refunded.json['id'],
        entries: [
          { account: 'refunds', amount: 500, currency: 'usd' },
          { account: 'provider_receivable', amount: -500, currency: 'usd' },
        ],
      },
    ])
  })

  test('of a fee of the provider names the payment, and reduces what the provider owes', async () => {
    const owner = await service.createTenant()
    const payment = await makePayment(service, owner, 'succeeded')
    const ref = { tenantId: owner.id, paymentId: parsePaymentId(payment.id) ?? '', refundId: null }
    const posting = postingOfProviderFee(88)
    if (posting === undefined) throw new Error('88 is no fee')

    await insertProviderFeesIfNew(service.store.sql, [
      { of: 'capture', ...ref, currency: 'usd', posting },
    ])

    expect(await listTransactions(`payment=${payment.id}&kind=provider_fee`, owner)).toMatchObject([
      {
        kind: 'provider_fee',
        payment: payment.id,
        refund: null,
        entries: [
          { account: 'provider_fees', amount: 88, currency: 'usd' },
          { account: 'provider_receivable', amount: -88, currency: 'usd' },
        ],
      },
    ])
    expect(await balancesOf(owner)).toMatchObject([
      { account: 'merchant_payable', amount: -1999 },
      { account: 'provider_fees', amount: 88 },
      { account: 'provider_receivable', amount: 1911 },
    ])
  })

  test('of a fee does not exist without the movement that cost it', async () => {
    const payment = await makePayment(service, tenant, 'requires_capture')
    const ref = { tenantId: tenant.id, paymentId: parsePaymentId(payment.id) ?? '', refundId: null }
    const posting = {
      debit: 'provider_fees',
      credit: 'provider_receivable',
      amountMinor: 1,
    } as const

    const posted = await insertProviderFeesIfNew(service.store.sql, [
      { of: 'capture', ...ref, currency: 'usd', posting },
    ])

    expect(posted).toBe(0)
    expect(await listTransactions(`payment=${payment.id}`)).toEqual([])
  })

  test.each(['declined', 'requires_capture', 'requires_action', 'canceled'] as const)(
    'does not exist for a payment that is %s',
    async (status) => {
      const payment = await makePayment(service, tenant, status)

      expect(await listTransactions(`payment=${payment.id}`)).toEqual([])
    },
  )

  test('is returned by its id as in the list', async () => {
    await makePayment(service, tenant, 'succeeded')
    const [listed] = await listTransactions('limit=1')

    const answer = await get(service.apiUrl, tenant, `/v1/ledger/transactions/${listed?.id}`)

    expect(answer.json).toEqual(listed)
  })

  test('is answered to other tenants like an unknown id and like nonsense', async () => {
    await makePayment(service, tenant, 'succeeded')
    const [{ id } = { id: '' }] = await listTransactions('limit=1')
    const other = await service.createTenant()
    const absent = `${id.slice(0, -1)}${id.endsWith('0') ? '1' : '0'}`

    const answers = await Promise.all(
      [id, absent, 'nonsense', id.replace('ltx_', 'evt_')].map((named) =>
        get(service.apiUrl, other, `/v1/ledger/transactions/${named}`),
      ),
    )

    for (const answer of answers) expectProblem(answer, 'resource-not-found')
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
  })
})

describe('the list of ledger transactions', () => {
  test('is filtered by payment, kind, currency and time', async () => {
    const owner = await service.createTenant()
    const first = await makePayment(service, owner, 'succeeded')
    await refund(first, 1, owner)
    await postPayment(service.apiUrl, owner, paymentBody({ currency: 'eur' }))
    const [euro, refunded, captured] = await listTransactions('', owner)
    const matching = async (query: string) =>
      (await listTransactions(query, owner)).map(({ id }) => id)

    expect(await matching(`payment=${first.id}`)).toEqual([refunded?.id, captured?.id])
    expect(await matching('kind=refund')).toEqual([refunded?.id])
    expect(await matching('currency=eur')).toEqual([euro?.id])
    expect(await matching('currency=chf')).toEqual([])
    expect(await matching(`kind=capture&currency=usd&payment=${first.id}`)).toEqual([captured?.id])
    expect(await matching(`created_from=${euro?.created_at}`)).toEqual([euro?.id])
    expect(await matching(`created_before=${euro?.created_at}`)).toEqual([
      refunded?.id,
      captured?.id,
    ])
    expect(await matching('created_from=2999-01-01T00:00:00%2B02:00')).toEqual([])
  })

  test('has no entries for the payment of another tenant', async () => {
    const other = await service.createTenant()
    const payment = await makePayment(service, other, 'succeeded')

    expect(await listTransactions(`payment=${payment.id}`)).toEqual([])
  })

  test.each([
    'payment=nonsense',
    'payment=re_01h455vb4pex5vsknk084sn02q',
    'kind=gift',
    'currency=USD',
    'currency=xxx',
    'created_from=yesterday',
    'created_from=9999-12-31T23:59:59-23:59',
    'created_from=2026-02-30T00:00:00Z',
    'created_from=2026-01-01',
    'created_from=2026-01-01T00:00:00',
    'created_before=0000-01-01T00:00:00Z',
    'created_before=1769860800',
    'kind=refund&kind=capture',
  ])('refuses %s', async (query) => {
    const answer = await get(service.apiUrl, tenant, `/v1/ledger/transactions?${query}`)

    expectProblem(answer, 'invalid-query')
  })
})

describe('the balances', () => {
  test.each(['currency=usd', 'limit=1'])('refuse the query %s', async (query) => {
    const owner = await service.createTenant()
    const answer = await get(service.apiUrl, owner, `/v1/ledger/balances?${query}`)
    expect(answer).toMatchObject({ status: 400, json: { type: '/problems/invalid-query' } })
  })

  test('are empty before money has moved', async () => {
    const owner = await service.createTenant()

    const { json } = await get(service.apiUrl, owner, '/v1/ledger/balances')

    expect(json).toEqual({ object: 'list', data: [], has_more: false })
  })

  test('are signed, per account and currency, and sum to zero in each currency', async () => {
    const owner = await service.createTenant()
    const payment = await makePayment(service, owner, 'succeeded')
    await refund(payment, 500, owner)
    await postPayment(service.apiUrl, owner, paymentBody({ currency: 'eur', amount: 70 }))
    await makePayment(service, await service.createTenant(), 'succeeded')

    expect(await balancesOf(owner)).toEqual(
      [
        { account: 'merchant_payable', currency: 'eur', amount: -70 },
        { account: 'provider_receivable', currency: 'eur', amount: 70 },
        { account: 'merchant_payable', currency: 'usd', amount: -1999 },
        { account: 'provider_receivable', currency: 'usd', amount: 1499 },
        { account: 'refunds', currency: 'usd', amount: 500 },
      ].map((balance) => ({ object: 'ledger_balance', ...balance })),
    )
  })
})

describe('fees', () => {
  const setFees = (...args: string[]) =>
    startProcess('src/start/tenants.ts', {
      args: ['fees', ...args],
      env: { DATABASE_URL: service.databaseUrl },
    })

  test('of a tenant are posted with its captures, and do not affect other tenants', async () => {
    const [paying, other] = await Promise.all([service.createTenant(), service.createTenant()])
    const done = await setFees(paying.id, '--basis-points', '290', '--fixed', '30').exited
    const payment = await makePayment(service, paying, 'succeeded')
    await makePayment(service, other, 'succeeded')

    expect(done).toEqual({ code: 0, signal: null })
    const transactions = await listTransactions('', paying)
    expect(transactions).toMatchObject([
      {
        payment: payment.id,
        entries: [
          { account: 'provider_receivable', amount: 1999 },
          { account: 'merchant_payable', amount: -1999 },
          { account: 'merchant_payable', amount: 88 },
          { account: 'fees', amount: -88 },
        ],
      },
    ])
    expect(await balancesOf(paying)).toMatchObject([
      { account: 'fees', amount: -88 },
      { account: 'merchant_payable', amount: -1911 },
      { account: 'provider_receivable', amount: 1999 },
    ])
    expect((await balancesOf(other)).map(({ account }) => account)).not.toContain('fees')
  })

  test('apply to the captured amount, and are kept after a refund', async () => {
    const paying = await service.createTenant()
    await setFees(paying.id, '--basis-points', '1000', '--fixed', '0').exited
    const payment = await makePayment(service, paying, 'requires_capture')

    await post(service.apiUrl, paying, `/v1/payments/${payment.id}/capture`, { amount: 1000 })
    await refund(payment, 1000, paying)

    expect(await balancesOf(paying)).toMatchObject([
      { account: 'fees', amount: -100 },
      { account: 'merchant_payable', amount: -900 },
      { account: 'provider_receivable', amount: 0 },
      { account: 'refunds', amount: 1000 },
    ])
  })

  test.each([
    [['--basis-points', '10001', '--fixed', '0']],
    [['--basis-points', '1', '--fixed', '-1']],
    [['--basis-points', '1']],
    [['--percent', '1']],
  ])('are not set by %p, which shows the help', async (args) => {
    const refused = setFees(tenant.id, ...args)

    expect(await refused.exited).toEqual({ code: 2, signal: null })
    expect(refused.lines.join('\n')).toContain('--basis-points <N> --fixed <N>')
  })

  test('are not set for an unknown tenant', async () => {
    const absent = randomUUID()
    const refused = setFees(absent, '--basis-points', '1', '--fixed', '1')

    expect(await refused.exited).toEqual({ code: 1, signal: null })
    expect(refused.lines.join('\n')).toContain(`there is no tenant ${absent}`)
  })
})
