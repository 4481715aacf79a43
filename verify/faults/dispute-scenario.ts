// The scenario of a dispute: the cardholder disputes a payment, and the merchant wins. Only events tell
// the service, and a dispute has none of our metadata.
import { unwrap } from '../../client/errors.ts'
import { withRelay, type EventRelay } from './event-relay.ts'
import { findPayment, retryWhileDown, until } from './event-scenarios.ts'
import type { Merchant } from './merchant.ts'
import { AUTOMATIC, paid } from './payments.ts'
import type { Violation } from './results.ts'
import type { Scenario } from './scenario.ts'

/** Its points are covered like those of every other operation. */
export const followDispute: Scenario = {
  name: 'dispute.follow',
  prepare: paid(AUTOMATIC),
  act: disputeAndWin,
  check: checkWonDispute,
}

const WITHDRAWN = 'charge.dispute.funds_withdrawn'
const CLOSED = 'charge.dispute.closed'

async function disputeAndWin(merchant: Merchant): Promise<void> {
  const { provider } = merchant.lane
  const { intentId } = await findPayment(merchant)
  const disputeIt = async (relay: EventRelay) => {
    const opened = await provider.control('POST', 'disputes', { payment_intent: intentId })
    await relay.untilAccepted(WITHDRAWN)
    await untilPosted(merchant, ({ withdrawn, amount }) => withdrawn === amount)
    const { id } = opened as { id: string }
    await provider.control('POST', `disputes/${id}`, { status: 'won' })
    await relay.untilAccepted(CLOSED)
    await untilPosted(merchant, ({ status }) => status === 'won')
  }
  await withRelay(merchant, [WITHDRAWN, CLOSED], disputeIt, intentId)
}

interface DisputeRow {
  readonly status: string
  readonly amount: number
  readonly withdrawn: number
}

async function untilPosted(
  merchant: Merchant,
  isReached: (dispute: DisputeRow) => boolean,
): Promise<void> {
  const read = async () => {
    const dispute = await findDispute(merchant)
    return dispute !== undefined && isReached(dispute)
  }
  await until(merchant, read, 'the dispute did not reach the state that it has at the provider')
}

async function findDispute({ lane: { owner }, tenant }: Merchant) {
  const [row] = await retryWhileDown(
    () => owner.sql<DisputeRow[]>`
      select status, amount_minor::int as amount, withdrawn_minor::int as withdrawn
      from disputes where tenant_id = ${tenant.id}
    `,
  )
  return row
}

/** The merchant has the amount back, and was told of each step once. */
async function checkWonDispute({ sender }: Merchant): Promise<Violation[]> {
  const { data: disputes } = unwrap(await sender.client.GET('/v1/disputes'))
  const query = { limit: 100 }
  const { data: events } = unwrap(await sender.client.GET('/v1/events', { params: { query } }))
  const told = events.map(({ type }) => type).filter((type) => type.startsWith('dispute.'))
  const { data: balances } = unwrap(await sender.client.GET('/v1/ledger/balances'))
  const fees = balances.find(({ account }) => account === 'provider_fees')?.amount
  const [dispute] = disputes
  const isShown =
    disputes.length === 1 &&
    dispute?.status === 'won' &&
    dispute.amount_withdrawn === dispute.amount &&
    dispute.amount_reinstated === dispute.amount &&
    dispute.fee === fees
  const isTold = told.toSorted().join() === EVENTS.join()
  return [
    ...(isShown
      ? []
      : [{ invariant: 5, what: `${disputes.length} disputes, ${dispute?.status}, fees ${fees}` }]),
    ...(isTold ? [] : [{ invariant: 2, what: `the events of the dispute are ${told.join()}` }]),
  ]
}

const EVENTS = [
  'dispute.closed',
  'dispute.created',
  'dispute.funds_reinstated',
  'dispute.funds_withdrawn',
  'dispute.updated',
]
