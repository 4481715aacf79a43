// Scenarios of what happens at the provider alone, and of which only its events tell the service: a
// cardholder authenticates, with the events in the usual order or in the order that a run is about;
// a refund fails after it succeeded.
import { unwrap } from '../../client/errors.ts'
import type { EventStep } from './event-orders.ts'
import { AUTHENTICATION, EVENT_SCENARIOS, placeOf, readOrder } from './event-orders.ts'
import { type Injection, RECOVERY_LIMIT_MS, type Violation } from './results.ts'
import { hasWork, makeEventsDue } from './lane-jobs.ts'
import { AUTOMATIC, CREATION, paid, type Scenario, SECURE } from './scenario.ts'
import { type EventRelay, type SignedEvent, withRelay } from './event-relay.ts'
import type { Merchant } from './merchant.ts'
import { poll, retryWhileDown } from './poll.ts'

type Outcome = 'succeed' | 'fail'

/** Its points are covered like those of every other operation. */
export const follow: Scenario = {
  name: 'payment.follow',
  prepare: paid(SECURE),
  act: followAsUsual,
  check: compareWithProvider,
}

export const followFailedRefund: Scenario = {
  name: 'refund.follow',
  async prepare(merchant) {
    const paymentId = await paid(AUTOMATIC)(merchant)
    return (await merchant.refund(paymentId, 1_000)).resource.id ?? ''
  },
  act: failRefund,
  check: checkFailedRefund,
}

export const eventScenarios: readonly Scenario[] = [
  {
    name: EVENT_SCENARIOS.passed,
    act: (merchant, _, injections) => payBetween(merchant, injections, 'succeed'),
    check: compareWithProvider,
  },
  {
    name: EVENT_SCENARIOS.refused,
    act: (merchant, _, injections) => payBetween(merchant, injections, 'fail'),
    check: compareWithProvider,
  },
  {
    name: EVENT_SCENARIOS.early,
    act: (merchant, _, injections) => payBetween(merchant, injections, 'succeed', true),
    check: compareWithProvider,
  },
]

const USUAL: readonly EventStep[] = ['requires_action', AUTHENTICATION, 'amount_capturable_updated']

/** The event that moves the payment on. The order of all events is covered by other runs. */
const MOVING_EVENT = 'payment_intent.amount_capturable_updated'

/** The provider sends its events as usual and repeats those that are not accepted. */
async function followAsUsual(merchant: Merchant): Promise<void> {
  await forgetReminders(merchant)
  await withRelay(merchant, [MOVING_EVENT], async (relay) => {
    await authenticate(merchant, (await findPayment(merchant)).intentId, 'succeed')
    await relay.untilAccepted(MOVING_EVENT)
    await untilAgreed(merchant)
  })
}

/** The bank returns the money of the refund, and the provider tells of it. */
async function failRefund(merchant: Merchant): Promise<void> {
  await withRelay(merchant, [REFUND_FAILED], async (relay) => {
    const { refundId } = await findRefund(merchant)
    const settlement = { status: 'failed' }
    await merchant.lane.provider.control('POST', `refunds/${refundId}/settle`, settlement)
    await relay.untilAccepted(REFUND_FAILED)
    const isFollowed = async () => (await findRefund(merchant)).status === 'failed'
    await until(merchant, isFollowed, 'the refund did not reach the state of its object')
  })
}

const REFUND_FAILED = 'refund.failed'

async function findRefund({ lane: { owner }, tenant }: Merchant) {
  const [row] = await retryWhileDown(
    () => owner.sql<{ status: string; refundId: string }[]>`
      select status, provider_refund_id as "refundId" from refunds where tenant_id = ${tenant.id}
    `,
  )
  if (row === undefined) throw new Error('there is no refund')
  return row
}

/** The customer has not got the money, so all of it can be refunded again. */
async function checkFailedRefund({ sender }: Merchant): Promise<Violation[]> {
  const { data } = unwrap(await sender.client.GET('/v1/payments'))
  const refunded = data[0]?.amount_refunded
  return refunded === 0
    ? []
    : [{ invariant: 5, what: `${refunded} is refunded, although the refund has failed` }]
}

/** Longer than the delivery of five events, shorter than the timeout of a call. */
const REPLY_DELAY_MS = 300

/**
 * Pays, and plays the steps that the point of the fault names, in order.
 *
 * @param isEarly whether all steps happen before the service has the provider's reply.
 */
async function payBetween(
  merchant: Merchant,
  injections: readonly Injection[],
  outcome: Outcome,
  isEarly = false,
): Promise<void> {
  const order = readOrder(injections[0]?.point ?? '') ?? USUAL
  await withRelay(merchant, [], async (relay) => {
    if (isEarly) await delayReply(merchant)
    const payment = merchant.pay(SECURE)
    if (!isEarly) await payment
    const hasLateEvent = order.lastIndexOf(AUTHENTICATION) < order.length - 1
    // Without an event after the authentication, only a reminder moves the payment on.
    if (hasLateEvent && !isEarly) await forgetReminders(merchant)
    await playSteps(merchant, relay, order, outcome)
    merchant.lane.watch.reached(placeOf(order))
    await payment
    if (hasLateEvent) await forgetReminders(merchant)
    await untilAgreed(merchant)
  })
}

async function delayReply({ lane }: Merchant): Promise<void> {
  const delay = { fault: 'delay', times: 1, delay_ms: REPLY_DELAY_MS }
  await lane.provider.plantFault({ match: CREATION, ...delay })
}

async function playSteps(
  merchant: Merchant,
  relay: EventRelay,
  order: readonly EventStep[],
  outcome: Outcome,
): Promise<void> {
  const first = await relay.waitFor(typeOf('requires_action'))
  if (first === undefined) throw new Error('the provider sent no event')
  const expected = new Set<EventStep>(['requires_action'])
  const used = new Map<EventStep, SignedEvent>()
  for (let index = 0; index < order.length;) {
    const one = order[index] as EventStep
    const next = order.findIndex((other, at) => at > index && other !== one)
    const times = (next < 0 ? order.length : next) - index
    index += times
    if (one === AUTHENTICATION) {
      await authenticate(merchant, objectIn(first), outcome)
      expected.add(outcome === 'succeed' ? 'amount_capturable_updated' : 'payment_failed')
      continue
    }
    const event = used.get(one) ?? (await eventFor(relay, one, expected.has(one)))
    used.set(one, event)
    await Promise.all(Array.from({ length: times }, () => relay.deliver(event)))
  }
}

/** An event that has not happened is forged: it is too early, or will never be true. */
async function eventFor(
  relay: EventRelay,
  step: EventStep,
  isExpected: boolean,
): Promise<SignedEvent> {
  const event = await relay.waitFor(typeOf(step), isExpected ? undefined : 0)
  if (event === undefined && isExpected) throw new Error(`the provider sent no ${step}`)
  return event ?? relay.forge(typeOf(step))
}

function typeOf(step: EventStep): string {
  return `payment_intent.${step}`
}

function objectIn({ body }: SignedEvent): string {
  return (JSON.parse(body) as { data: { object: { id: string } } }).data.object.id
}

async function authenticate({ lane }: Merchant, intentId: string, outcome: Outcome): Promise<void> {
  await lane.provider.control('POST', `payment_intents/${intentId}/authenticate`, { outcome })
}

/** Deletes the reminders, so that only events move the payment on. */
export async function forgetReminders({ lane: { owner } }: Merchant): Promise<void> {
  await retryWhileDown(() => owner.sql`delete from atomic_jobs.job where name = 'reminders'`)
}

/** Reads past every proxy, because polling must not add points to the run. */
export async function findPayment({ lane: { owner }, tenant }: Merchant) {
  const [row] = await retryWhileDown(
    () => owner.sql<{ status: string; intentId: string }[]>`
      select status, provider_payment_id as "intentId" from payments where tenant_id = ${tenant.id}
    `,
  )
  if (row === undefined) throw new Error('there is no payment')
  return row
}

/**
 * After so many polls without a job, nothing changes the payment. Counted, as a machine may stall.
 */
const IDLE_POLLS = 25

/** Waits until payment and intent agree. */
async function untilAgreed(merchant: Merchant): Promise<void> {
  const agree = async () => {
    const { status, intentId } = await findPayment(merchant)
    return compareStates(await readIntentStatus(merchant, intentId), status).length === 0
  }
  await until(merchant, agree, 'the payment did not reach the state of its intent')
}

/** Waits for a state. If it is never reached, that is a violation. */
export async function until(
  merchant: Merchant,
  isReached: () => Promise<boolean>,
  what: string,
): Promise<void> {
  const { lane, signal, violations } = merchant
  let idlePolls = 0
  let hasReached = false
  const isOver = async () => {
    hasReached = await isReached()
    if (hasReached || idlePolls === IDLE_POLLS) return true
    // While a process starts again, nothing can happen.
    const isIdle = lane.isWhole && !(await retryWhileDown(() => hasWork(lane)))
    idlePolls = isIdle ? idlePolls + 1 : 0
    await retryWhileDown(() => makeEventsDue(lane))
    return false
  }
  await poll(RECOVERY_LIMIT_MS, isOver, { signal })
  if (!hasReached) violations.push({ invariant: 7, what })
}

/** Checks that the payment agrees with its intent, and that the provider has nothing left to do. */
async function compareWithProvider(merchant: Merchant): Promise<Violation[]> {
  const { intentId } = await findPayment(merchant)
  const { data } = unwrap(await merchant.sender.client.GET('/v1/payments'))
  return compareStates(
    await readIntentStatus(merchant, intentId),
    data[0]?.status ?? 'not on record',
  )
}

/** Reads past the faults of the provider's API, which are meant for the worker. */
export async function readIntentStatus({ lane }: Merchant, intentId: string): Promise<string> {
  return ((await lane.provider.control('GET', `objects/${intentId}`)) as { status: string }).status
}

/** The status of a payment by the status of its intent. */
const PAYMENT_STATUS_OF: Readonly<Record<string, string>> = {
  requires_action: 'requires_action',
  succeeded: 'succeeded',
  // Declined, and then canceled so that no other card can pay it.
  canceled: 'declined',
}

export function compareStates(theirs: string, ours: string): Violation[] {
  if (PAYMENT_STATUS_OF[theirs] === ours) return []
  return [{ invariant: 5, what: `the provider's intent is ${theirs}, the payment is ${ours}` }]
}

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
