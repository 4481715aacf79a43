// The ledger endpoints: transactions, balances and fees.
import { describe, expect, test } from '@jest/globals'
import { insertProviderFeesIfNew } from '../../../src/reconciliation/provider-fees.ts'
import { setTenantFees } from '../../../src/db/tenants/tenants.ts'
import { postingOfProviderFee } from '../../../src/domain/ledger/ledger.ts'
import { parsePaymentId } from '../../../src/domain/payments/payment.ts'
import { get, paymentBody, post, postPayment } from '../../support/client.ts'
import { service, tenant } from '../../support/shared-service.ts'
import type { Tenant } from '../../support/service.ts'
import { makePayment, type ShownPayment } from '../payments.ts'

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
      { kind: 'capture', ...ref, currency: 'usd', posting },
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
      { kind: 'capture', ...ref, currency: 'usd', posting },
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
})

test('the list of ledger transactions is filtered by payment, kind, currency and time', async () => {
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
  expect(await matching(`created_before=${euro?.created_at}`)).toEqual([refunded?.id, captured?.id])
  expect(await matching('created_from=2999-01-01T00:00:00%2B02:00')).toEqual([])
})

describe('the balances', () => {
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
  const setFees = ({ id }: Tenant, basisPoints: number, fixedMinor: number) =>
    setTenantFees(service.store.sql, id, { basisPoints, fixedMinor })

  test('of a tenant are posted with its captures, and do not affect other tenants', async () => {
    const [paying, other] = await Promise.all([service.createTenant(), service.createTenant()])
    await setFees(paying, 290, 30)
    const payment = await makePayment(service, paying, 'succeeded')
    await makePayment(service, other, 'succeeded')

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
})
