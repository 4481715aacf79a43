// The ledger's rules: which accounts there are, and what each movement of money posts. A posting moves
// an amount from one account to another, so that no set of them can be out of balance.
import type { Payment } from '../payments/payment.ts'
import type { Refund } from '../payments/refund.ts'

/**
 * The accounts of a tenant, one of each per currency. What the provider owes us, what we owe the
 * merchant, what we keep for the service, and what went back to customers.
 */
export const ledgerAccounts = [
  'provider_receivable',
  'merchant_payable',
  'fees',
  'refunds',
] as const
export type LedgerAccount = (typeof ledgerAccounts)[number]

export const ledgerKinds = ['capture', 'refund'] as const
export type LedgerKind = (typeof ledgerKinds)[number]

/** One row of the ledger: an amount above zero, in minor units, from the credited to the debited account. */
export interface Posting {
  readonly debit: LedgerAccount
  readonly credit: LedgerAccount
  readonly amountMinor: number
}

/** One transaction of the ledger, before it is written. */
export interface LedgerEntry {
  readonly kind: LedgerKind
  readonly currency: string
  readonly postings: readonly Posting[]
}

/** What a tenant pays for each captured payment. */
export interface FeeSchedule {
  /** Hundredths of a percent of the captured amount. */
  readonly basisPoints: number
  readonly fixedMinor: number
}

/** The fee for a capture in minor units, half a unit rounded up, and never more than was captured. */
export function feeFor(amountMinor: number, { basisPoints, fixedMinor }: FeeSchedule): number {
  const share = Math.floor((amountMinor * basisPoints + 5_000) / 10_000)
  return Math.min(share + fixedMinor, amountMinor)
}

/** What a payment's capture adds to the ledger. */
export function entryOfCapture(
  { currency, amountCapturedMinor }: Pick<Payment, 'currency' | 'amountCapturedMinor'>,
  fees: FeeSchedule,
): LedgerEntry {
  return { kind: 'capture', currency, postings: postingsOfCapture(amountCapturedMinor, fees) }
}

/** What a refund adds to the ledger. */
export function entryOfRefund({
  currency,
  amountMinor,
}: Pick<Refund, 'currency' | 'amountMinor'>): LedgerEntry {
  return { kind: 'refund', currency, postings: postingsOfRefund(amountMinor) }
}

/** Captured: the provider owes us the amount, we owe it to the merchant, less the fee. */
export function postingsOfCapture(amountMinor: number, fees: FeeSchedule): Posting[] {
  const feeMinor = feeFor(amountMinor, fees)
  const capture = { debit: 'provider_receivable', credit: 'merchant_payable', amountMinor } as const
  const fee = { debit: 'merchant_payable', credit: 'fees', amountMinor: feeMinor } as const
  return feeMinor === 0 ? [capture] : [capture, fee]
}

/** Refunded: the provider gives the amount back out of what it owes us. Fees are kept. */
export function postingsOfRefund(amountMinor: number): Posting[] {
  return [{ debit: 'refunds', credit: 'provider_receivable', amountMinor }]
}
