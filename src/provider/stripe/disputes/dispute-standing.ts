// Reads where a dispute stands at Stripe, and what its movements on the balance took and gave back.
import {
  disputeStatuses,
  type DisputeStanding,
  type DisputeStatus,
} from '../../../domain/payments/dispute.ts'
import { fitTextOrNothing } from '../../provider-text.ts'
import { isInstant, isJson, type Json } from '../../json.ts'
import { isAmount, isCurrency } from '../records/records.ts'

/**
 * The standing of a dispute; undefined in a state that is not known here, or when the record makes no
 * sense.
 *
 * @see https://docs.stripe.com/api/disputes/object
 */
export function disputeStandingOf(dispute: Json): DisputeStanding | undefined {
  const { amount, currency, status, evidence_details: evidence } = dispute
  const reason = fitTextOrNothing(dispute['reason'])
  const dueBy = isJson(evidence) ? evidence['due_by'] : null
  const moved = movedBy(dispute)
  const isPossible = isAmount(amount) && isCurrency(currency) && reason !== undefined
  if (!isPossible || !isStatus(status) || moved === undefined) return undefined
  return {
    amountMinor: amount,
    currency,
    reason,
    status,
    evidenceDueAt: isInstant(dueBy) ? new Date(dueBy * 1_000) : null,
    ...moved,
  }
}

function isStatus(value: unknown): value is DisputeStatus {
  return disputeStatuses.some((status) => status === value)
}

type Moved = Pick<
  DisputeStanding,
  'withdrawnMinor' | 'reinstatedMinor' | 'feeMinor' | 'feeCurrency'
>

/** The sums of the movements. The fee is in the currency of the balance. */
function movedBy(dispute: Json): Moved | undefined {
  const { balance_transactions: movements } = dispute
  if (!Array.isArray(movements)) return undefined
  const amounts = movements.map((movement) => amountOf(dispute, movement))
  if (!amounts.every((moved) => moved !== undefined)) return undefined
  const currencies = new Set(amounts.map(({ feeCurrency }) => feeCurrency))
  if (currencies.size > 1) return undefined
  return {
    withdrawnMinor: sum(amounts.map(({ amount }) => Math.max(0, -amount))),
    reinstatedMinor: sum(amounts.map(({ amount }) => Math.max(0, amount))),
    feeMinor: sum(amounts.map(({ fee }) => fee)),
    feeCurrency: [...currencies][0] ?? null,
  }
}

/**
 * The amount of a movement in the currency of the dispute. If the balance has another currency, the
 * movement shows the exchanged amount, and the dispute the original.
 */
function amountOf(dispute: Json, movement: unknown) {
  if (!isJson(movement)) return undefined
  const { amount: moved, fee, currency: feeCurrency } = movement
  const areNumbers = Number.isSafeInteger(moved) && Number.isSafeInteger(fee)
  if (!areNumbers || !isCurrency(feeCurrency)) return undefined
  const isExchanged = feeCurrency !== dispute['currency']
  const signed = Number(moved)
  const amount = isExchanged ? Math.sign(signed) * Number(dispute['amount']) : signed
  return { amount, fee: Number(fee), feeCurrency }
}

function sum(amounts: readonly number[]): number {
  return amounts.reduce((total, amount) => total + amount, 0)
}
