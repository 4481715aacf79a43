// Scenarios of a payment with 3-D Secure, which continues when its cardholder has authenticated at
// the provider. Only the provider's events tell the service of that: in the usual order, or in the
// order that a run is about.
import { setTimeout as wait } from 'node:timers/promises'
import { unwrap } from '../../client/errors.ts'
import { isStoreUnavailable } from '../../src/db/connection/store-errors.ts'
import {
  AUTHENTICATION,
  EVENT_SCENARIOS,
  placeOf,
  readOrder,
  type Happening,
} from './event-orders.ts'
import type { Strike } from './case.ts'
import { hastenEvents, hasWork } from './lane-jobs.ts'
import { SECURE } from './payments.ts'
import { Postman, type Letter } from './postman.ts'
import type { Violation } from './results.ts'
import type { Scenario } from './scenarios.ts'
import { RECOVERY_LIMIT_SECONDS, type Shop } from './shop.ts'

type Outcome = 'succeed' | 'fail'

/** Its points are covered like those of every other operation. */
export const follow: Scenario = {
  name: 'payment.follow',
  prepare: async (shop) => (await shop.pay(SECURE)).resource.id ?? '',
  act: takePlainCourse,
  judge: compareWithProvider,
}

export const eventScenarios: readonly Scenario[] = [
  {
    name: EVENT_SCENARIOS.passed,
    act: (shop, _, strikes) => payBetween(shop, strikes, 'succeed'),
    judge: compareWithProvider,
  },
  {
    name: EVENT_SCENARIOS.refused,
    act: (shop, _, strikes) => payBetween(shop, strikes, 'fail'),
    judge: compareWithProvider,
  },
  {
    name: EVENT_SCENARIOS.early,
    act: (shop, _, strikes) => payBetween(shop, strikes, 'succeed', true),
    judge: compareWithProvider,
  },
]

const USUAL: readonly Happening[] = ['requires_action', AUTHENTICATION, 'amount_capturable_updated']

const EVENT_LIMIT_MS = 20_000

/** The event that moves the payment on. The order of all events is covered by other runs. */
const MOVING = 'payment_intent.amount_capturable_updated'

/** The provider sends its events as usual and repeats those that are not accepted. */
async function takePlainCourse(shop: Shop): Promise<void> {
  const { lane, history } = shop
  await forgetReminders(shop)
  const postman = await Postman.open({ lane, run: history.run, passesOn: MOVING })
  try {
    await authenticate(shop, (await findPayment(shop)).intentId, 'succeed')
    await postman.handed(MOVING, EVENT_LIMIT_MS)
    await untilAgreed(shop)
  } finally {
    await postman.close()
  }
}

/** Longer than the delivery of five events, shorter than the timeout of a call. */
const REPLY_DELAY_MS = 300

/**
 * Pays, and plays the steps that the point of the fault names, in order.
 *
 * @param isEarly whether all steps happen before the service has the provider's reply.
 */
async function payBetween(
  shop: Shop,
  strikes: readonly Strike[],
  outcome: Outcome,
  isEarly = false,
): Promise<void> {
  const { lane, history } = shop
  const order = readOrder(strikes[0]?.point ?? '') ?? USUAL
  const postman = await Postman.open({ lane, run: history.run })
  try {
    if (isEarly) await delayReply(shop)
    const paid = shop.pay(SECURE)
    if (!isEarly) await paid
    const toldLast = order.lastIndexOf(AUTHENTICATION) < order.length - 1
    // Without an event after the authentication the service needs its reminders. With one it does
    // not.
    if (toldLast && !isEarly) await forgetReminders(shop)
    await haveHappen(shop, postman, order, outcome)
    lane.watch.reached(placeOf(order))
    await paid
    if (toldLast) await forgetReminders(shop)
    await untilAgreed(shop)
  } finally {
    await postman.close()
  }
}

async function delayReply({ lane }: Shop): Promise<void> {
  const match = { method: 'POST', path: '/v1/payment_intents' } as const
  await lane.provider.plantFault({ match, fault: 'delay', times: 1, delay_ms: REPLY_DELAY_MS })
}

async function haveHappen(
  shop: Shop,
  postman: Postman,
  order: readonly Happening[],
  outcome: Outcome,
): Promise<void> {
  const first = await postman.arrived(typeOf('requires_action'))
  if (first === undefined) throw new Error('the provider sent no event')
  const expected = new Set<Happening>(['requires_action'])
  const used = new Map<Happening, Letter>()
  for (let index = 0; index < order.length;) {
    const one = order[index] as Happening
    const next = order.findIndex((other, at) => at > index && other !== one)
    const times = (next < 0 ? order.length : next) - index
    index += times
    if (one === AUTHENTICATION) {
      await authenticate(shop, objectIn(first), outcome)
      expected.add(outcome === 'succeed' ? 'amount_capturable_updated' : 'payment_failed')
      continue
    }
    const letter = used.get(one) ?? (await letterFor(postman, one, expected.has(one)))
    used.set(one, letter)
    await Promise.all(Array.from({ length: times }, () => postman.hand(letter)))
  }
}

/** An event that has not happened is forged: it is too early, or will never be true. */
async function letterFor(
  postman: Postman,
  happening: Happening,
  isExpected: boolean,
): Promise<Letter> {
  const letter = await postman.arrived(typeOf(happening), isExpected ? undefined : 0)
  if (letter === undefined && isExpected) throw new Error(`the provider sent no ${happening}`)
  return letter ?? postman.forge(typeOf(happening))
}

function typeOf(happening: Happening): string {
  return `payment_intent.${happening}`
}

function objectIn({ body }: Letter): string {
  return (JSON.parse(body) as { data: { object: { id: string } } }).data.object.id
}

async function authenticate({ lane }: Shop, intentId: string, outcome: Outcome): Promise<void> {
  await lane.provider.control('POST', `payment_intents/${intentId}/authenticate`, { outcome })
}

/** Deletes the reminders, so that only events move the payment on. */
async function forgetReminders({ lane: { owner } }: Shop): Promise<void> {
  await untilServed(() => owner.sql`delete from pgboss.job where name = 'reminders'`)
}

/** Reads past every proxy, because polling must not add points to the run. */
async function findPayment({ lane: { owner }, tenant }: Shop) {
  const [row] = await untilServed(
    () => owner.sql<{ status: string; intentId: string }[]>`
      select status, provider_payment_id as "intentId" from payments where tenant_id = ${tenant.id}
    `,
  )
  if (row === undefined) throw new Error('there is no payment')
  return row
}

/** Repeats a query of the suite itself while the run has PostgreSQL down. */
async function untilServed<Value>(ask: () => PromiseLike<Value>): Promise<Value> {
  const endsAt = performance.now() + RECOVERY_LIMIT_SECONDS * 1_000
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      if (!isStoreUnavailable(error) || performance.now() > endsAt) throw error
      await wait(POLL_MS)
    }
  }
}

const POLL_MS = 40
/**
 * After so many polls without a job, nothing changes the payment. Counted, as a machine may stall.
 */
const LEFT_ALONE_LOOKS = 25

/** Waits until payment and intent agree. If they never do, that is a violation. */
async function untilAgreed(shop: Shop): Promise<void> {
  const endsAt = performance.now() + RECOVERY_LIMIT_SECONDS * 1_000
  let looks = 0
  while (performance.now() < endsAt && looks < LEFT_ALONE_LOOKS) {
    const { status, intentId } = await findPayment(shop)
    if (judgeStanding(await readStanding(shop, intentId), status).length === 0) return
    looks = (await untilServed(() => hasWork(shop.lane))) ? 0 : looks + 1
    await untilServed(() => hastenEvents(shop.lane))
    await wait(POLL_MS, undefined, { signal: shop.signal })
  }
  shop.found.push({ invariant: 7, what: 'the payment did not reach the state of its intent' })
}

/** Checks that the payment agrees with its intent, and that the provider has nothing left to do. */
async function compareWithProvider(shop: Shop): Promise<Violation[]> {
  const { intentId } = await findPayment(shop)
  const { data } = unwrap(await shop.sender.client.GET('/v1/payments'))
  return judgeStanding(await readStanding(shop, intentId), data[0]?.status ?? 'not on record')
}

/** Reads past the faults of the provider's API, which are meant for the worker. */
async function readStanding({ lane }: Shop, intentId: string): Promise<string> {
  return ((await lane.provider.control('GET', `objects/${intentId}`)) as { status: string }).status
}

/** The status of a payment by the status of its intent. */
const STANDINGS: Readonly<Record<string, string>> = {
  requires_action: 'requires_action',
  succeeded: 'succeeded',
  // Declined, and then canceled so that no other card can pay it.
  canceled: 'declined',
}

export function judgeStanding(theirs: string, ours: string): Violation[] {
  if (STANDINGS[theirs] === ours) return []
  return [{ invariant: 5, what: `the provider's intent is ${theirs}, the payment is ${ours}` }]
}
