// Reads disputes at Braintree, and where each stands. A dispute names its transaction, with the order id in
// which our ids are. A retrieval asks for information only; a chargeback and a pre-arbitration take the
// disputed amount until they are decided.
import type { Done, NotExecuted } from '../../../src/domain/operations/outcome.ts'
import type {
  Dispute,
  DisputeProviderStatus,
  DisputeStatus,
} from '../../../src/domain/payments/dispute.ts'
import { asRead, confirmed } from '../../../src/provider/call-outcomes.ts'
import { isJson, fitTextOrNothing, type Json } from '../../../src/provider/provider-text.ts'
import type { OnRepeat, Window, ProviderDispute } from '../../../src/provider/payment-provider.ts'
import { toOutcome, within, type Connection } from '../connection.ts'
import { correlationIn } from '../order-id.ts'
import { readIfThere } from '../records/records.ts'
import { withRetries } from '../searches.ts'
import { readAmount } from '../amounts.ts'
import { isTransactionId, readTime } from '../transaction.ts'

export async function retrieveDispute(
  connection: Connection,
  { providerDisputeId: id }: Dispute,
): Promise<Done<DisputeProviderStatus> | NotExecuted> {
  const asked = { call: 'dispute.find', dispute_id: id }
  const looked = await toOutcome<DisputeProviderStatus>(connection, asked, async (exchange) => {
    const dispute = readDisputeIn(disputeOf(await connection.gateway.dispute.find(id)))
    const status = fitTextOrNothing(dispute?.members['status'])
    const answered = { status: exchange.status, dispute_id: dispute?.id, dispute_status: status }
    const value = dispute?.id === id ? dispute.providerStatus : undefined
    return confirmed(value, asked, answered, 'the answer is implausible')
  })
  return asRead(looked)
}

export async function readDispute(
  connection: Connection,
  id: string,
): Promise<ProviderDispute | undefined> {
  const found = await readIfThere(connection, () => connection.gateway.dispute.find(id))
  if (found === undefined) return undefined
  const dispute = readDisputeIn(disputeOf(found.value))
  if (dispute?.id !== id) throw new Error('the answer is not about the dispute')
  return recordOf(dispute)
}

export async function* listDisputes(connection: Connection, window: Window, onRepeat?: OnRepeat) {
  const isInside = isWithin(window)
  for await (const page of searchDisputes(connection, 'receivedDate', window, onRepeat)) {
    yield page.filter(({ receivedAt }) => isInside(receivedAt)).map(recordOf)
  }
}

export const isWithin =
  ({ from, to }: Window) =>
  (time: Date): boolean =>
    time >= from && time < to

/**
 * The disputes of whose days the window has a part. Braintree dates disputes by the day.
 *
 * @throws Error when a page is malformed, or when the pages have fewer disputes than announced.
 */
export async function* searchDisputes(
  connection: Connection,
  field: 'receivedDate' | 'effectiveDate',
  { from, to }: Window,
  onRepeat?: OnRepeat,
): AsyncGenerator<readonly ReadDispute[]> {
  const { gateway } = connection
  const [min, max] = [from, to].map((time) => time.toISOString().slice(0, 10))
  const search = { [field]: { min, max } }
  const read = withRetries(onRepeat)
  let listed = 0
  for (let page = 1; ; page += 1) {
    const path = `${gateway.config.baseMerchantPath()}/disputes/advanced_search?page=${page}`
    const answer = await read(() =>
      within(connection, {}, () => gateway.http.post(path, { search })),
    )
    const { disputes, total } = readPage(answer)
    listed += disputes.length
    yield disputes
    if (listed >= total) return
    if (disputes.length === 0) throw new Error('the pages of the disputes end too early')
  }
}

function readPage(answer: unknown): { disputes: readonly ReadDispute[]; total: number } {
  const page: unknown = isJson(answer) ? answer['disputes'] : undefined
  const total: unknown = isJson(page) ? page['totalItems'] : undefined
  const listed: unknown = isJson(page) ? (page['dispute'] ?? []) : undefined
  const disputes = [listed].flat().map(readDisputeIn)
  const isPage = typeof total === 'number' && disputes.every((dispute) => dispute !== undefined)
  if (!isPage) throw new Error('the answer is not a page of disputes')
  return { disputes, total }
}

const disputeOf = (answer: unknown): unknown => (isJson(answer) ? answer['dispute'] : undefined)

function recordOf({ id, providerPaymentId, providerStatus, receivedAt, orderId }: ReadDispute) {
  return {
    providerDisputeId: id,
    providerPaymentId,
    providerStatus,
    createdAt: receivedAt,
    correlation: correlationIn(orderId),
  }
}

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
  readonly providerStatus: DisputeProviderStatus | undefined
  readonly members: Json
}

/** Undefined when the value is no dispute. */
function readDisputeIn(value: unknown): ReadDispute | undefined {
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
    providerStatus: providerStatusIn(value),
    members: value,
  }
}

/** Undefined in a state that is not known here, or when the amounts make no sense. */
function providerStatusIn(dispute: Json): DisputeProviderStatus | undefined {
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
