// Reads where a dispute stands at Braintree. A retrieval asks for information only; a chargeback and a
// pre-arbitration take the disputed amount until they are decided.
import type { DisputeStanding, DisputeStatus } from '../../../src/domain/payments/dispute.ts'
import { isJson, type Json } from '../../../src/provider/json.ts'
import { fitTextOrNothing } from '../../../src/provider/provider-text.ts'
import { readAmount } from '../amounts.ts'
import { isTransactionId, readTime } from '../transaction.ts'

/** The statuses of a dispute that takes money. */
const statuses: ReadonlyMap<unknown, DisputeStatus> = new Map([
  ['open', 'needs_response'],
  ['disputed', 'under_review'],
  ['under_review', 'under_review'],
  ['won', 'won'],
  ['lost', 'lost'],
  ['accepted', 'lost'],
  ['auto_accepted', 'lost'],
  ['expired', 'lost'],
])

/** The same of a retrieval, which takes none. */
const inquiries: ReadonlyMap<DisputeStatus | undefined, DisputeStatus> = new Map([
  ['needs_response', 'warning_needs_response'],
  ['under_review', 'warning_under_review'],
  ['won', 'warning_closed'],
  ['lost', 'warning_closed'],
])

export interface ReadDispute {
  readonly id: string
  readonly providerPaymentId: string | null
  readonly receivedAt: Date
  readonly orderId: unknown
  readonly standing: DisputeStanding | undefined
  readonly members: Json
}

/** Undefined when the value is no dispute. */
export function readDisputeIn(value: unknown): ReadDispute | undefined {
  if (!isJson(value)) return undefined
  const { id, transaction } = value
  const receivedAt = readTime(value['receivedDate'])
  if (!isTransactionId(id) || receivedAt === undefined) return undefined
  const sale = isJson(transaction) ? transaction : {}
  return {
    id,
    providerPaymentId: isTransactionId(sale['id']) ? sale['id'] : null,
    receivedAt,
    orderId: sale['orderId'],
    standing: standingIn(value),
    members: value,
  }
}

/** Undefined in a state that is not known here, or when the amounts make no sense. */
function standingIn(dispute: Json): DisputeStanding | undefined {
  const { currencyIsoCode, kind, status: theirs } = dispute
  const currency = typeof currencyIsoCode === 'string' ? currencyIsoCode.toLowerCase() : ''
  const amountMinor = readAmount(dispute['amountDisputed'], currency)
  const reason = fitTextOrNothing(dispute['reason'])
  const takesMoney = kind === 'chargeback' || kind === 'pre_arbitration'
  const decided = statuses.get(theirs)
  const status = takesMoney ? decided : kind === 'retrieval' ? inquiries.get(decided) : undefined
  const isPossible = /^[a-z]{3}$/.test(currency) && amountMinor !== undefined && amountMinor > 0
  if (!isPossible || reason === undefined || status === undefined) return undefined
  const wonMinor = status === 'won' ? readAmount(dispute['amountWon'], currency) : 0
  if (wonMinor === undefined) return undefined
  return {
    amountMinor,
    currency,
    reason,
    status,
    evidenceDueAt: readTime(dispute['replyByDate']) ?? null,
    withdrawnMinor: takesMoney ? amountMinor : 0,
    reinstatedMinor: wonMinor,
    // Braintree shows its fees in reports alone.
    feeMinor: 0,
    feeCurrency: null,
  }
}

/** When the dispute was won; undefined unless it was. */
export function wonAt({ members: { statusHistory } }: ReadDispute): Date | undefined {
  const entries: unknown[] = Array.isArray(statusHistory) ? statusHistory : []
  const won = entries.filter(isJson).find((entry) => entry['status'] === 'won')
  return won && (readTime(won['effectiveDate']) ?? readTime(won['timestamp']))
}
