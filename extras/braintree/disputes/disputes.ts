// Reads disputes at Braintree. A dispute names its transaction, with the order id in which our ids are.
import type { Done, NotExecuted } from '../../../src/domain/operations/outcome.ts'
import type { Dispute, DisputeStanding } from '../../../src/domain/payments/dispute.ts'
import { asRead, unknown } from '../../../src/provider/call-outcomes.ts'
import { isJson } from '../../../src/provider/json.ts'
import type { OnRepeat, Window, ProviderDispute } from '../../../src/provider/payment-provider.ts'
import { fitTextOrNothing } from '../../../src/provider/provider-text.ts'
import { toOutcome, within, type Connection } from '../connection.ts'
import { correlationIn } from '../order-id.ts'
import { readIfThere } from '../records/records.ts'
import { patient } from '../searches.ts'
import { readDisputeIn, type ReadDispute } from './dispute-standing.ts'

export async function retrieveDispute(
  connection: Connection,
  { providerDisputeId: id }: Dispute,
): Promise<Done<DisputeStanding> | NotExecuted> {
  const asked = { call: 'dispute.find', dispute_id: id }
  const looked = await toOutcome<DisputeStanding>(connection, asked, async (exchange) => {
    const dispute = readDisputeIn(disputeOf(await connection.gateway.dispute.find(id)))
    const status = fitTextOrNothing(dispute?.members['status'])
    const answered = { status: exchange.status, dispute_id: dispute?.id, dispute_status: status }
    const value = dispute?.id === id ? dispute.standing : undefined
    if (value === undefined) return unknown(asked, answered, 'the answer is implausible')
    return { outcome: 'done', value, asked, answered }
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
  const read = patient(onRepeat)
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

function recordOf({ id, providerPaymentId, standing, receivedAt, orderId }: ReadDispute) {
  return {
    providerDisputeId: id,
    providerPaymentId,
    standing,
    createdAt: receivedAt,
    correlation: correlationIn(orderId),
  }
}
