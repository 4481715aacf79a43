// Compares everything that can be read of a tenant with the model: payments, refunds, balances,
// ledger transactions, and the calls that the provider really executed.
import { expect } from '@jest/globals'
import { get } from '../support/client.ts'
import { expectLedgerBalanced } from '../support/ledger.ts'
import type { Model, Real } from './model-and-real.ts'
import { feeOf, refunded, type Payment } from './model.ts'

/** Compares the tenant as a whole, and these payments in full. */
export async function expectAgreement(
  model: Model,
  real: Real,
  payments: readonly Payment[],
): Promise<void> {
  await Promise.all([
    expectOverview(model, real),
    expectBalances(model, real),
    expectLedgerBalanced(real.service.store, real.tenant.id),
    ...payments.flatMap((payment) => [expectRefunds(payment, real), expectPosted(payment, real)]),
  ])
}

/** Compares what a request that changes nothing could have changed first. */
export async function expectOverview(model: Model, real: Real): Promise<void> {
  await Promise.all([expectPayments(model, real), expectExecuted(model, real)])
}

type Row = Record<string, unknown>

async function listOf({ service, tenant }: Real, path: string): Promise<Row[]> {
  const { json } = await get(service.apiUrl, tenant, path)
  expect(json['has_more']).toBe(false)
  return json['data'] as Row[]
}

async function expectPayments({ payments }: Model, real: Real): Promise<void> {
  const shown = await listOf(real, '/v1/payments?limit=100')
  expect(
    shown.map((row) => ({
      id: row['id'],
      status: row['status'],
      amount: row['amount'],
      captured: row['amount_captured'],
      refunded: row['amount_refunded'],
    })),
  ).toEqual(
    payments.toReversed().map(({ id, status, amount, captured, refunds }) => ({
      id,
      status,
      amount,
      captured,
      refunded: sum(refunds.map((refund) => refund.amount)),
    })),
  )
}

async function expectRefunds({ id, refunds }: Payment, real: Real): Promise<void> {
  const shown = await listOf(real, `/v1/payments/${id}/refunds?limit=100`)
  const byId = (one: { id: unknown }, other: { id: unknown }) =>
    String(one.id).localeCompare(String(other.id))
  expect(
    shown
      .map((row) => ({ id: row['id'], amount: row['amount'], status: row['status'] }))
      .toSorted(byId),
  ).toEqual(refunds.map((refund) => ({ ...refund, status: 'succeeded' })).toSorted(byId))
}

/**
 * The ledger transactions of a payment are its capture and its refunds, one to one. The entries of
 * each sum to zero.
 */
async function expectPosted(payment: Payment, real: Real): Promise<void> {
  const shown = await listOf(real, `/v1/ledger/transactions?limit=100&payment=${payment.id}`)
  const moved = shown.map((row) => {
    const entries = row['entries'] as { amount: number; currency: string }[]
    const total = sum(entries.map(({ amount }) => amount))
    const currencies = new Set(entries.map(({ currency }) => currency))
    const what = [row['kind'], row['refund'], entries[0]?.amount]
    return [...what, 'of', total, ...currencies].join(' ')
  })
  const zero = `of 0 ${payment.currency}`
  const captures = payment.captured === 0 ? [] : [`capture  ${payment.captured} ${zero}`]
  const refunds = payment.refunds.map(({ id, amount }) => `refund ${id} ${amount} ${zero}`)
  expect(moved.toSorted()).toEqual([...captures, ...refunds].toSorted())
}

async function expectBalances({ payments, fees }: Model, real: Real): Promise<void> {
  const shown = await listOf(real, '/v1/ledger/balances')
  for (const currency of ['usd', 'eur']) {
    const its = payments.filter((payment) => payment.currency === currency)
    const captured = sum(its.map((payment) => payment.captured))
    const fee = sum(its.map((payment) => feeOf(payment.captured, fees)))
    const given = sum(its.map(refunded))
    const balance = (account: string) =>
      shown.find((row) => row['account'] === account && row['currency'] === currency)?.['amount'] ??
      0
    expect({
      provider_receivable: balance('provider_receivable'),
      merchant_payable: balance('merchant_payable'),
      fees: balance('fees'),
      refunds: balance('refunds'),
    }).toEqual({
      provider_receivable: captured - given,
      merchant_payable: fee - captured,
      // Not `-fee`, because Jest distinguishes 0 and -0.
      fees: 0 - fee,
      refunds: given,
    })
  }
}

/** The provider executed the calls of the model for each payment, once, and no others. */
async function expectExecuted({ payments }: Model, { service }: Real): Promise<void> {
  const executed = await service.provider.executed()
  const done = executed.map(
    ({ metadata, kind, amount, currency }) =>
      `${metadata['atomic_payment']} ${currency} ${kind} ${amount}`,
  )
  const expected = payments.flatMap(({ id, currency, executed: calls }) =>
    calls.map((call) => `${id} ${currency} ${call}`),
  )
  expect(done.toSorted()).toEqual(expected.toSorted())
  const keys = executed.map(({ idempotency_key: key }) => key)
  expect(new Set(keys).size).toBe(keys.length)
}

function sum(amounts: readonly number[]): number {
  return amounts.reduce((total, amount) => total + amount, 0)
}
