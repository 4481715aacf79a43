// In which orders the provider's events reach the service: every order of up to five, repeated ones, and none.
import { seededRandom } from '../simulate/random.ts'
import type { Case } from './case.ts'
import type { Fault } from './faults.ts'
import type { Point } from './points.ts'
import { PASS } from './watch.ts'

/** What the holder of the card does at the provider; it takes its turn among the events. */
export const AUTHENTICATION = 'authentication'

/** What happens to a payment with 3-D Secure, by the ends of the events' types. */
export const HAPPENINGS = [
  'requires_action',
  AUTHENTICATION,
  'amount_capturable_updated',
  'succeeded',
  'payment_failed',
] as const

export type Happening = (typeof HAPPENINGS)[number]

export const NOTHING = 'nothing'

/** Where the events are delivered in some order; a point of its own, so that a label repeats it. */
export function pointOf(order: readonly Happening[]): string {
  return `api/events/${order.join(',') || NOTHING}#1/before`
}

/** What the point of a strike says; undefined when it is another kind of point. */
export function readOrder(point: string): readonly Happening[] | undefined {
  const [, told] = /^api\/events\/([a-z_,]+)#1\/before$/.exec(point) ?? []
  if (told === undefined) return undefined
  return told === NOTHING ? [] : (told.split(',') as Happening[])
}

export function placeOf(order: readonly Happening[]): Omit<Point, 'label'> {
  const message = order.join(',') || NOTHING
  return { role: 'api', name: 'events', message, moment: 'before', of: 'provider', way: 'in' }
}

/** The scenario does it, and comes to the point when the last of them is delivered. */
export const eventFaults: readonly Fault[] = [
  'webhooks-lost',
  'webhooks-reordered',
  'webhooks-duplicated',
  'webhooks-contradicting',
  'webhooks-early',
].map((name) => ({ name, strikesAt: () => false, strike: () => PASS }))

/** The scenarios, by what becomes of the authentication, and when all that happens. */
export const EVENT_SCENARIOS = {
  passed: 'payment.follow.events',
  refused: 'payment.follow.refused.events',
  early: 'payment.follow.early.events',
} as const

const SAMPLED = 6

/** The runs: all of them, or a few that the seed draws. */
export function planEvents({ quick, seed }: { quick: boolean; seed: number }): Case[] {
  const all = Object.values(EVENT_SCENARIOS).flatMap((scenario) =>
    [[], ...ordersIn(scenario), ...repetitionsOf(HAPPENINGS)].map((order): Case => ({
      scenario,
      strikes: [{ fault: nameOf(scenario, order), point: pointOf(order) }],
    })),
  )
  if (!quick) return all
  const random = seededRandom(seed)
  return [...new Set(Array.from({ length: SAMPLED }, () => random.pick(all)))]
}

/** Every order of every choice once; where the payment goes another way, those of all five, of one and of two. */
function ordersIn(scenario: string): Happening[][] {
  const orders = ordersOf(HAPPENINGS)
  if (scenario === EVENT_SCENARIOS.passed) return orders
  return orders.filter(({ length }) => length <= 2 || length === HAPPENINGS.length)
}

function nameOf(scenario: string, order: readonly Happening[]): string {
  if (order.every((one) => one === AUTHENTICATION)) return 'webhooks-lost'
  if (scenario === EVENT_SCENARIOS.early) return 'webhooks-early'
  if (new Set(order).size < order.length) return 'webhooks-duplicated'
  return order.some((one) => isContradicted(scenario, one))
    ? 'webhooks-contradicting'
    : 'webhooks-reordered'
}

/** Whether such an event tells what is not so. */
function isContradicted(scenario: string, happening: Happening): boolean {
  const isRefused = scenario === EVENT_SCENARIOS.refused
  if (happening === 'payment_failed') return !isRefused
  return isRefused && (happening === 'succeeded' || happening === 'amount_capturable_updated')
}

/** Each choice of them, in each order. */
export function ordersOf<One>(all: readonly One[]): One[][] {
  return all.flatMap((one) => {
    const others = all.filter((other) => other !== one)
    return [[one], ...ordersOf(others).map((rest) => [one, ...rest])]
  })
}

/** Each event twice, at once or with another one between. */
function repetitionsOf(all: readonly Happening[]): Happening[][] {
  return all
    .filter((one) => one !== AUTHENTICATION)
    .flatMap((one): Happening[][] => [
      [AUTHENTICATION, one, one],
      ...all
        .filter((other) => other !== one)
        .map((other): Happening[] =>
          other === AUTHENTICATION ? [one, other, one] : [AUTHENTICATION, one, other, one],
        ),
    ])
}
