// The ledger's rules: the accounts, and the postings of each movement of money. A posting moves an
// amount from one account to another, so no set of postings can be out of balance.
import type { Payment } from '../payments/payment.ts'

/**
 * The accounts of a tenant, one of each per currency: what the provider owes us, what we owe the
 * merchant, our fees, what was returned to customers, what disputes took, and what the provider
 * charges us.
 */
export const ledgerAccounts = [
  'provider_receivable',
  'merchant_payable',
  'fees',
  'refunds',
  'disputes',
  'provider_fees',
] as const
export type LedgerAccount = (typeof ledgerAccounts)[number]

/** The movements of money between a customer and us. Each is also a movement at the provider. */
export const movementKinds = [
  'capture',
  'refund',
  'refund_failure',
  'dispute',
  'dispute_reversal',
] as const
export type MovementKind = (typeof movementKinds)[number]

export const ledgerKinds = [...movementKinds, 'provider_fee'] as const
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
  // The product of twelve digits and basis points is no safe integer.
  const share = (BigInt(amountMinor) * BigInt(basisPoints) + 5_000n) / 10_000n
  return Math.min(Number(share) + fixedMinor, amountMinor)
}

/** The ledger entry for the capture of a payment. */
export function entryOfCapture(
  { currency, amountCapturedMinor }: Pick<Payment, 'currency' | 'amountCapturedMinor'>,
  fees: FeeSchedule,
): LedgerEntry {
  return { kind: 'capture', currency, postings: postingsOfCapture(amountCapturedMinor, fees) }
}

interface Amount {
  readonly currency: string
  readonly amountMinor: number
}

/** The ledger entry for a refund. */
export function entryOfRefund({ currency, amountMinor }: Amount): LedgerEntry {
  return { kind: 'refund', currency, postings: postingsOfRefund(amountMinor) }
}

/** The ledger entry for a refund that failed or was canceled after its money had moved. */
export function entryOfFailedRefund({ currency, amountMinor }: Amount): LedgerEntry {
  const posting = { debit: 'provider_receivable', credit: 'refunds', amountMinor } as const
  return { kind: 'refund_failure', currency, postings: [posting] }
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

/**
 * The posting of the provider's fee: it owes us less. A negative amount is a fee that it returns.
 * Undefined without a fee.
 */
export function postingOfProviderFee(amountMinor: number): Posting | undefined {
  if (amountMinor === 0) return undefined
  return amountMinor > 0
    ? { debit: 'provider_fees', credit: 'provider_receivable', amountMinor }
    : { debit: 'provider_receivable', credit: 'provider_fees', amountMinor: -amountMinor }
}

/** What a dispute has moved since it was last posted. */
interface DisputeMovement {
  readonly currency: string
  readonly withdrawnMinor: number
  readonly reinstatedMinor: number
  /** Negative when fees were returned. */
  readonly feeMinor: number
  readonly feeCurrency: string
}

/** The ledger entries of a dispute: what it took, what it gave back, and the provider's fee. */
export function entriesOfDispute(moved: DisputeMovement): LedgerEntry[] {
  const { currency, withdrawnMinor, reinstatedMinor, feeMinor, feeCurrency } = moved
  const [disputes, receivable] = ['disputes', 'provider_receivable'] as const
  const withdrawal = { debit: disputes, credit: receivable, amountMinor: withdrawnMinor }
  const reinstatement = { debit: receivable, credit: disputes, amountMinor: reinstatedMinor }
  const fee = postingOfProviderFee(feeMinor)
  const entries: LedgerEntry[] = [
    { kind: 'dispute', currency, postings: [withdrawal] },
    { kind: 'dispute_reversal', currency, postings: [reinstatement] },
    { kind: 'provider_fee', currency: feeCurrency, postings: fee === undefined ? [] : [fee] },
  ]
  return entries.filter(({ postings }) => postings.some(({ amountMinor }) => amountMinor !== 0))
}
