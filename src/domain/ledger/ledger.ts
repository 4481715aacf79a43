// The ledger's rules: the accounts, and the postings of each movement of money. A posting moves an
// amount from one account to another, so no set of postings can be out of balance.
import type { Payment } from '../payments/payment.ts'
import type { Refund } from '../payments/refund.ts'

/**
 * The accounts of a tenant, one of each per currency: what the provider owes us, what we owe the
 * merchant, our fees, and what was returned to customers.
 */
export const ledgerAccounts = [
  'provider_receivable',
  'merchant_payable',
  'fees',
  'refunds',
] as const
export type LedgerAccount = (typeof ledgerAccounts)[number]

export const ledgerKinds = ['capture', 'refund', 'refund_failure'] as const
export type LedgerKind = (typeof ledgerKinds)[number]

/**
 * One row of the ledger. The amount is above zero, in minor units, and moves from credit to debit.
 */
export interface Posting {
  readonly debit: LedgerAccount
  readonly credit: LedgerAccount
  readonly amountMinor: number
}

/** A ledger transaction that is not written yet. */
export interface LedgerEntry {
  readonly kind: LedgerKind
  readonly currency: string
  readonly postings: readonly Posting[]
}

/** The fees of a tenant for each captured payment. */
export interface FeeSchedule {
  /** Hundredths of a percent of the captured amount. */
  readonly basisPoints: number
  readonly fixedMinor: number
}

/**
 * The fee for a capture in minor units. Half a unit is rounded up; the fee never exceeds the
 * capture.
 */
export function feeFor(amountMinor: number, { basisPoints, fixedMinor }: FeeSchedule): number {
  const share = Math.floor((amountMinor * basisPoints + 5_000) / 10_000)
  return Math.min(share + fixedMinor, amountMinor)
}

/** The ledger entry for the capture of a payment. */
export function entryOfCapture(
  { currency, amountCapturedMinor }: Pick<Payment, 'currency' | 'amountCapturedMinor'>,
  fees: FeeSchedule,
): LedgerEntry {
  return { kind: 'capture', currency, postings: postingsOfCapture(amountCapturedMinor, fees) }
}

/** The ledger entry for a refund. */
export function entryOfRefund({
  currency,
  amountMinor,
}: Pick<Refund, 'currency' | 'amountMinor'>): LedgerEntry {
  return { kind: 'refund', currency, postings: postingsOfRefund(amountMinor) }
}

/** The ledger entry for a refund that failed or was canceled after its money had moved. */
export function entryOfFailedRefund({
  currency,
  amountMinor,
}: Pick<Refund, 'currency' | 'amountMinor'>): LedgerEntry {
  const postings = postingsOfRefund(amountMinor).map(({ debit, credit, ...posting }) => ({
    ...posting,
    debit: credit,
    credit: debit,
  }))
  return { kind: 'refund_failure', currency, postings }
}

/** The provider owes us the captured amount; we owe it to the merchant, minus the fee. */
export function postingsOfCapture(amountMinor: number, fees: FeeSchedule): Posting[] {
  const feeMinor = feeFor(amountMinor, fees)
  const capture = { debit: 'provider_receivable', credit: 'merchant_payable', amountMinor } as const
  const fee = { debit: 'merchant_payable', credit: 'fees', amountMinor: feeMinor } as const
  return feeMinor === 0 ? [capture] : [capture, fee]
}

/** The provider returns the amount to the customer, so it owes us less. Fees are not returned. */
export function postingsOfRefund(amountMinor: number): Posting[] {
  return [{ debit: 'refunds', credit: 'provider_receivable', amountMinor }]
}
