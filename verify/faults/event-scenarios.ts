// A payment with 3-D Secure, which goes on when its holder has authenticated at the provider. The service learns
// that by the provider's events alone: they come as they should, or in whatever order a run is about.
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

/** Its points are swept like those of every other operation. */
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

/** What the payment is moved by; of all others only their order is of interest, which is another run's. */
const MOVING = 'payment_intent.amount_capturable_updated'

/** The provider hands over what it has to tell, and hands it over again when nobody takes it. */
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

/** Longer than it takes to hand over five events, shorter than a call may take. */
const REPLY_DELAY_MS = 300

/**
 * Pays, and has happen in turn what the strike's point names.
 *
 * @param isEarly whether all of it happens before the service has the provider's reply.
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
    // Who is told of nothing is reminded. All others have to do with what they are told.
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
  if (first === undefined) throw new Error('the provider sends no event')
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

/** What has not happened is told all the same: too early, or never to come true. */
async function letterFor(
  postman: Postman,
  happening: Happening,
  isExpected: boolean,
): Promise<Letter> {
  const letter = await postman.arrived(typeOf(happening), isExpected ? undefined : 0)
  if (letter === undefined && isExpected) throw new Error(`the provider tells of no ${happening}`)
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

/** So that the payment is moved by events alone. */
async function forgetReminders({ lane: { owner } }: Shop): Promise<void> {
  await untilServed(() => owner.sql`delete from pgboss.job where name = 'reminders'`)
}

/** Past every proxy: what is asked for all the time is no point of the run. */
async function findPayment({ lane: { owner }, tenant }: Shop) {
  const [row] = await untilServed(
    () => owner.sql<{ status: string; intentId: string }[]>`
      select status, provider_payment_id as "intentId" from payments where tenant_id = ${tenant.id}
    `,
  )
  if (row === undefined) throw new Error('there is no payment')
  return row
}

/** What is asked beside the run is asked again while the run has PostgreSQL away. */
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
/** So many in a row find no job any more: nobody comes back to the payment. Counted, for a machine may stand still. */
const LEFT_ALONE_LOOKS = 25

/** Resolves when the service says of the payment what the provider does, or has had its time. */
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
  shop.found.push({ invariant: 7, what: 'nobody takes the payment to where the provider has it' })
}

/** Whether the payment stands where the provider has it, and the provider has nothing left to do for it. */
async function compareWithProvider(shop: Shop): Promise<Violation[]> {
  const { intentId } = await findPayment(shop)
  const { data } = unwrap(await shop.sender.client.GET('/v1/payments'))
  return judgeStanding(await readStanding(shop, intentId), data[0]?.status ?? 'not on record')
}

/** Past the faults of its API, which are for the worker. */
async function readStanding({ lane }: Shop, intentId: string): Promise<string> {
  return ((await lane.provider.control('GET', `objects/${intentId}`)) as { status: string }).status
}

/** Where a payment has to stand, by where its intent does. */
const STANDINGS: Readonly<Record<string, string>> = {
  requires_action: 'requires_action',
  succeeded: 'succeeded',
  // Refused, and closed so that no other card pays it.
  canceled: 'declined',
}

export function judgeStanding(theirs: string, ours: string): Violation[] {
  if (STANDINGS[theirs] === ours) return []
  return [{ invariant: 5, what: `the provider's intent is ${theirs}, the payment is ${ours}` }]
}
